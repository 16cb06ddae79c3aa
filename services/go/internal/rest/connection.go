package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"wirebench.dev/services/internal/operations"
	"wirebench.dev/services/internal/platform"
)

const (
	// Of a request's first line and headers, with the empty line that ends them.
	headBytesMax = 64 * 1024
	// What net/http reads beyond its limit.
	netHTTPSlopBytes = 4096
	// How long clients that have connected and said nothing may still send a request when the server stops.
	silentGrace = 200 * time.Millisecond
	// How long a client may go on sending what nobody reads any more, and how much: a connection that is closed with
	// unread bytes is reset, and the reset may overtake the reply.
	linger      = 500 * time.Millisecond
	lingerBytes = 16 << 20
)

// What is said of a request that is none.
const malformed = "Malformed HTTP request."

// What net/http itself says to such requests is plain text, and begins its headers like nothing else that we send.
var plainRefusal = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// contractListener makes connections on which what net/http refuses by itself is refused in the contract's words.
type contractListener struct {
	net.Listener
	settings *platform.Settings
}

// Accept returns the next connection. With TLS the handshake is made when it is first read: net/http's clock for a
// request then counts for the handshake too.
func (l *contractListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if l.settings.TLS != nil {
		accepted = tls.Server(accepted, l.settings.TLS)
	}
	return &connection{Conn: accepted, settings: l.settings}, nil
}

// connection is one client's. net/http reads it in one goroutine, and writes to it in that or another.
type connection struct {
	net.Conn
	settings *platform.Settings
	// Whether something of a request has come that isn't whole yet.
	owes atomic.Bool
	// Whether the latest reply is a stream.
	streams atomic.Bool
	// Whether net/http has ended a read by a deadline in the past, for reasons of its own.
	interrupted atomic.Bool
	// Whether the last word was said.
	refused atomic.Bool
}

type connectionKey struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the one on which the request with this context has come.
func connectionOf(ctx context.Context) *connection { return ctx.Value(connectionKey{}).(*connection) }

// requestIsRead notes that the client has sent all of its request.
func (c *connection) requestIsRead() {
	c.owes.Store(false)
	c.streams.Store(false)
}

// Read tells a client whose time is up in the middle of a request that it was too slow.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.owes.Store(true)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && c.owes.Load() && !c.interrupted.Load() {
		limit := c.settings.ReadTimeout.Seconds()
		c.refuse(http.StatusRequestTimeout, fmt.Sprintf("The request took longer than %g s to arrive.", limit))
	}
	return n, err
}

// SetReadDeadline is how net/http interrupts a read, and limits its time.
func (c *connection) SetReadDeadline(t time.Time) error {
	c.interrupted.Store(!t.IsZero() && t.Before(time.Now()))
	return c.Conn.SetReadDeadline(t)
}

// Write gives a client as long to read a reply as it has to send a request; of a stream it may pause to read as long as
// between requests.
func (c *connection) Write(p []byte) (int, error) {
	if c.refused.Load() {
		return len(p), nil
	}
	if status, ok := refusalOf(p); ok {
		if status == http.StatusRequestHeaderFieldsTooLarge {
			c.refuse(status, fmt.Sprintf("The request's head is longer than %d bytes.", headBytesMax))
		} else {
			c.refuse(http.StatusBadRequest, malformed)
		}
		return len(p), nil
	}
	timeout := c.settings.ReadTimeout
	if c.streams.Load() {
		timeout = c.settings.IdleTimeout
	}
	if err := c.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// CloseWrite ends the replies, and leaves the other direction open.
func (c *connection) CloseWrite() error {
	return c.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

// Close lets a client that was refused read why.
func (c *connection) Close() error {
	if c.refused.Load() && c.CloseWrite() == nil && c.Conn.SetReadDeadline(time.Now().Add(linger)) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, lingerBytes))
	}
	return c.Conn.Close()
}

// refuse sends the last reply of a connection.
func (c *connection) refuse(status int, message string) {
	if c.refused.Swap(true) {
		return
	}
	body := operations.JSONEnvelope{}.EncodeFailure(message)
	reply := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), jsonType, len(body), body)
	_ = c.SetWriteDeadline(time.Now().Add(c.settings.ReadTimeout))
	_, _ = c.Conn.Write(reply) // a client that has gone needs none
}

// refusalOf returns the status of a reply that net/http makes by itself to what is no request.
func refusalOf(reply []byte) (status int, ok bool) {
	line, rest, _ := bytes.Cut(reply[:min(len(reply), len("HTTP/1.1 431 ")+len(plainRefusal)+256)], []byte("\r\n"))
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) || !bytes.HasPrefix(rest, plainRefusal[len("\r\n"):]) {
		return 0, false
	}
	_, err := fmt.Sscanf(string(line), "HTTP/1.1 %d", &status)
	return status, err == nil
}
