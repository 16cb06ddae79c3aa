package h2

import (
	"encoding/binary"
	"fmt"
	"math"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/transport"
)

const (
	headerBytes = 9
	// What the first bytes of an HTTP/1 reply are as the length of a frame.
	httpLength = 'H'<<16 | 'T'<<8 | 'T'
)

// readFrame returns the next frame; its payload is valid until the one after it.
func (c *Connection) readFrame() (http2.FrameHeader, []byte, error) {
	head, err := c.reader.Peek(headerBytes)
	if err != nil {
		return http2.FrameHeader{}, nil, err
	}
	header := parseHeader(head)
	if header.Length == httpLength {
		return header, nil, transport.NewGarbage("the server does not speak HTTP/2: it answers in HTTP/1")
	}
	if header.Length > frameBytesMax {
		return header, nil, transport.NewGarbage("the reply is not HTTP/2: a frame of %d bytes", header.Length)
	}
	whole, err := c.reader.Peek(headerBytes + int(header.Length))
	if err != nil {
		return header, nil, err
	}
	_, _ = c.reader.Discard(len(whole))
	return header, whole[headerBytes:], nil
}

// parseHeader reads the nine bytes that a frame begins with: RFC 9113, 4.1.
func parseHeader(head []byte) http2.FrameHeader {
	return http2.FrameHeader{
		Length: binary.BigEndian.Uint32(head) >> 8, Type: http2.FrameType(head[3]), Flags: http2.Flags(head[4]),
		StreamID: binary.BigEndian.Uint32(head[5:]) & math.MaxInt32,
	}
}

// hasFrame reports whether a frame has come whole, so that reading it doesn't wait.
func (c *Connection) hasFrame() bool {
	come := c.reader.Buffered()
	if come < headerBytes {
		return false
	}
	head, _ := c.reader.Peek(headerBytes)
	return come >= headerBytes+int(parseHeader(head).Length)
}

// take acts on a frame.
func (c *Connection) take(header http2.FrameHeader, payload []byte) error {
	isContinued := header.Type == http2.FrameContinuation && header.StreamID == c.continued
	if isContinued != (c.continued != 0) {
		return transport.NewGarbage("the reply is not HTTP/2: headers are interrupted")
	}
	switch header.Type {
	case http2.FrameData, http2.FrameHeaders, http2.FrameContinuation:
		return c.takeReply(header, payload)
	case http2.FrameSettings:
		c.takeSettings(header, payload)
	case http2.FramePushPromise:
		return transport.NewGarbage("the server pushed a reply that it was told not to")
	}
	var data [8]byte // Others are as short, or ignored: RFC 9113, 4.1.
	copy(data[:], payload)
	switch number := binary.BigEndian.Uint32(data[:]); header.Type {
	case http2.FrameRSTStream:
		c.takeReset(c.open[header.StreamID], http2.ErrCode(number))
	case http2.FrameGoAway:
		if code := http2.ErrCode(binary.BigEndian.Uint32(data[4:])); code != http2.ErrCodeNo {
			c.goodbye = fmt.Sprintf(": %s %s", code, payload[min(len(payload), len(data)):])
		}
		c.isLeaving = true
		for _, each := range c.calls() {
			if last := number & math.MaxInt32; each.id == 0 || each.id > last { // Those won't be processed.
				c.end(each, each.failure(errLeaving))
			}
		}
	case http2.FrameWindowUpdate:
		if s := c.open[header.StreamID]; s != nil {
			s.window += int64(number & math.MaxInt32)
		} else if header.StreamID == 0 {
			c.window += int64(number & math.MaxInt32)
		}
		c.writeBlocked()
	case http2.FramePing:
		if !header.Flags.Has(http2.FlagPingAck) {
			c.pings++
			_ = c.framer.WritePing(true, data)
		}
	}
	if c.out.Len() > outBytesMax {
		return transport.NewGarbage("the server doesn't read what it is sent")
	}
	return nil
}

// takeReply takes a part of a stream. Those that were cancelled may have some on their way.
func (c *Connection) takeReply(header http2.FrameHeader, payload []byte) error {
	s := c.open[header.StreamID]
	if s == nil && (header.StreamID >= c.nextID || header.StreamID%2 == 0) {
		return transport.NewGarbage("the server answered a stream that is not open")
	}
	if s != nil {
		s.begun = true
	}
	if header.Type != http2.FrameContinuation && header.Flags.Has(http2.FlagDataPadded) { // The same bit in HEADERS.
		if len(payload) == 0 || int(payload[0]) >= len(payload) {
			return transport.NewGarbage("the reply is not HTTP/2: a frame is shorter than its padding")
		}
		payload = payload[1 : len(payload)-int(payload[0])]
	}
	if header.Type == http2.FrameHeaders && header.Flags.Has(http2.FlagHeadersPriority) {
		payload = payload[min(len(payload), 5):] // What it says of priorities.
	}
	if header.Type != http2.FrameContinuation {
		c.endsStream = header.Flags.Has(http2.FlagDataEndStream) // The same bit in HEADERS.
	}
	if header.Type != http2.FrameData {
		if err := c.takeHeaders(header, payload, s); err != nil {
			return err
		}
	} else if err := c.takeData(header, payload, s); err != nil {
		c.cancel(s, err)
		return nil
	}
	switch {
	case s == nil || c.continued != 0 || !c.endsStream:
	case len(s.rest) > 0: // The server didn't want to read it to its end.
		c.cancel(s, nil)
	default:
		c.end(s, nil)
	}
	return nil
}

// takeData takes a part of a body.
func (c *Connection) takeData(header http2.FrameHeader, payload []byte, s *Stream) error {
	c.report(0, &c.unreported, header.Length)
	if s == nil {
		return nil
	}
	c.report(s.id, &s.unreported, header.Length)
	return s.receiver.TakeData(payload)
}

// report gives the server room for more when half of it is used.
func (c *Connection) report(streamID uint32, unreported *uint32, bytes uint32) {
	if *unreported += bytes; *unreported > receiveWindowBytes/2 {
		_ = c.framer.WriteWindowUpdate(streamID, *unreported)
		*unreported = 0
	}
}

// takeHeaders takes HEADERS and CONTINUATION frames. The decoder needs those of all streams.
func (c *Connection) takeHeaders(header http2.FrameHeader, payload []byte, s *Stream) error {
	c.decoder.SetEmitFunc(func(hpack.HeaderField) {})
	if s != nil {
		c.decoder.SetEmitFunc(s.takeField)
	}
	if header.Type == http2.FrameHeaders {
		c.continued = header.StreamID
	}
	_, err := c.decoder.Write(payload)
	if header.Flags.Has(http2.FlagHeadersEndHeaders) && err == nil { // The same bit in CONTINUATION.
		c.continued = 0
		err = c.decoder.Close()
	}
	if err != nil {
		return transport.NewGarbage("the reply's headers can't be read: %s", err)
	}
	return nil
}

func (c *Connection) takeReset(s *Stream, code http2.ErrCode) {
	if s == nil {
		return
	}
	failure := &transport.Failure{Class: transport.Rejected, Message: "the server reset the stream: " + code.String()}
	if code == http2.ErrCodeRefusedStream {
		failure.Message, failure.Unprocessed = "the server refused the stream", true
	}
	c.end(s, failure)
}

func (c *Connection) takeSettings(header http2.FrameHeader, payload []byte) {
	if header.Flags.Has(http2.FlagSettingsAck) {
		return
	}
	if c.streamsMax < 0 {
		c.streamsMax = math.MaxInt
	}
	const settingBytes = 6
	for ; len(payload) >= settingBytes; payload = payload[settingBytes:] {
		value := binary.BigEndian.Uint32(payload[2:])
		switch http2.SettingID(binary.BigEndian.Uint16(payload)) {
		case http2.SettingInitialWindowSize:
			for _, each := range c.open {
				each.window += int64(value) - c.initialWindow
			}
			c.initialWindow = int64(value)
		case http2.SettingHeaderTableSize:
			c.headers.limitTable(value)
		case http2.SettingMaxConcurrentStreams:
			c.streamsMax = int(value)
		}
	}
	_ = c.framer.WriteSettingsAck()
	c.writeBlocked()
	c.sendQueued()
}
