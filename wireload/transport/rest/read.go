package rest

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"net/http/httputil"
	"strconv"

	"wirebench.dev/wireload/transport"
)

// readHead reads a line like HTTP/1.1 200 OK, and the headers.
func (c *Client) readHead() error {
	c.reply.status, c.length, c.isChunked = 0, -1, false
	line, err := c.ReadLine(transport.HeaderBytesMax)
	if err != nil {
		return err
	}
	isStatus := len(line) == 12 || len(line) > 12 && line[12] == ' '
	if isStatus && string(line[:7]) == "HTTP/1." && line[8] == ' ' {
		c.isLast = line[7] == '0'
		c.reply.status, err = strconv.Atoi(string(line[9:12]))
	}
	if err != nil || c.reply.status < 100 {
		return transport.NewGarbage("the reply is not HTTP/1.1: %q", line)
	}
	if err = c.readFields(c.takeField); err == nil && c.isChunked && c.length >= 0 {
		err = transport.NewGarbage("the reply has both Content-Length and Transfer-Encoding")
	}
	return err
}

// readFields reads headers or trailers.
func (c *Client) readFields(take func([]byte) error) error {
	line, err := c.ReadLine(transport.HeaderBytesMax)
	for err == nil && len(line) > 0 {
		if err = take(line); err == nil {
			line, err = c.ReadLine(transport.HeaderBytesMax)
		}
	}
	return err
}

// takeField takes a header.
func (c *Client) takeField(line []byte) error {
	name, value, isField := bytes.Cut(line, []byte(":"))
	if !isField || bytes.ContainsAny(name, " \t") {
		return transport.NewGarbage("the reply has a header without a name")
	}
	value = bytes.TrimSpace(value)
	is := func(known string) bool { return bytes.EqualFold(name, []byte(known)) }
	switch {
	case is("content-length"):
		length, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil || c.length >= 0 && c.length != int(length) {
			return transport.NewGarbage("the reply has an invalid Content-Length: %q", value)
		}
		c.length = int(length)
	case is("transfer-encoding"):
		if c.isChunked || !bytes.EqualFold(value, []byte("chunked")) {
			return transport.NewGarbage("the reply has an unknown Transfer-Encoding: %q", value)
		}
		c.isChunked = true
	case is("connection"):
		c.isLast = false
		for each := range bytes.SplitSeq(value, []byte(",")) {
			c.isLast = c.isLast || bytes.EqualFold(bytes.TrimSpace(each), []byte("close"))
		}
	case is("content-type") && c.reply.item != nil: // Others aren't looked at, and a text takes memory.
		c.reply.contentType = string(value)
	}
	return nil
}

// readBody reads what follows the head (RFC 9112, 6.3), and hands that of a stream on as it comes.
func (c *Client) readBody() error {
	body, left := io.Reader(c.Reader), c.length
	switch status := c.reply.status; {
	case status < http.StatusOK || status == http.StatusNoContent || status == http.StatusNotModified:
		return nil
	case c.isChunked:
		body, left = httputil.NewChunkedReader(c.Reader), math.MaxInt
	case left < 0:
		c.isLast, left = true, math.MaxInt
	}
	for left > 0 {
		part, err := c.reply.body.Read(body, left)
		left -= len(part)
		if err == nil && c.reply.isStream() {
			c.reply.body = c.reply.body[:0]
			err = c.reply.takeItems(part)
		}
		switch {
		case err == io.EOF && c.isChunked: //nolint:errorlint // The body's own end.
			return c.readFields(func([]byte) error { return nil }) // Trailers.
		case err == io.EOF && c.length < 0: //nolint:errorlint // The connection's own end.
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}
