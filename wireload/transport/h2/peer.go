package h2

import (
	"encoding/binary"
	"math"

	"golang.org/x/net/http2"
	"wirebench.dev/wireload/transport"
)

// peer is what is known of the server's side of a connection.
type peer struct {
	// window is the connection's room for bodies; initialWindow is that of a fresh stream.
	window, initialWindow int64
	frameBytesMax         uint32
	// streamsMax is how many may be open at once. On a shared connection there are none before the server's first
	// settings, as gRPC's own clients have it: the server would reject those that are too many.
	streamsMax int
	isSettled  bool
	// leaving is set by GOAWAY.
	leaving bool
	// unreported is what came of replies since the server last heard of room for more.
	unreported uint32
}

var errLeaving = &transport.Failure{Class: transport.Closed, Message: "the server is leaving", Unprocessed: true}

func newPeer() peer {
	return peer{window: windowBytes, initialWindow: windowBytes, frameBytesMax: frameBytesMax, streamsMax: math.MaxInt}
}

// take acts on a frame.
func (c *Connection) take(header http2.FrameHeader, payload []byte) error {
	isContinued := header.Type == http2.FrameContinuation && header.StreamID == c.reply.streamID
	if c.reply.inHeaders != isContinued {
		return transport.NewGarbage("the reply is not HTTP/2: headers are interrupted")
	}
	switch header.Type {
	case http2.FrameData, http2.FrameHeaders, http2.FrameContinuation:
		return c.takeReply(header, payload)
	case http2.FrameRSTStream:
		return c.takeReset(header, payload)
	case http2.FrameSettings:
		return c.takeSettings(header, payload)
	case http2.FramePing:
		return c.takePing(header, payload)
	case http2.FrameGoAway:
		return c.takeGoAway(payload)
	case http2.FrameWindowUpdate:
		return c.takeWindow(header, payload)
	case http2.FramePushPromise:
		return transport.NewGarbage("the server pushed a reply that it was told not to")
	}
	return nil // Unknown frames are ignored: RFC 9113, 4.1.
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
	if header.Type == http2.FrameData {
		c.report(header, s)
	}
	if header.Type != http2.FrameContinuation {
		var err error
		if payload, err = trim(header, payload); err != nil {
			return err
		}
	}
	if header.Type != http2.FrameData {
		return c.takeHeaders(header, payload, s)
	}
	if s == nil {
		return nil
	}
	if err := s.receiver.TakeData(payload); err != nil {
		c.cancel(s, err)
	} else if header.Flags.Has(http2.FlagDataEndStream) {
		c.complete(s)
	} else if s.isPulled {
		s.notify()
	}
	return nil
}

// complete ends a stream whose reply has come whole. One whose body the server didn't want to read to its end is cancelled.
func (c *Connection) complete(s *Stream) {
	if len(s.rest) > 0 {
		c.cancel(s, nil)
	} else {
		c.end(s, nil)
	}
}

// report gives the server room for more when half of it is used.
func (c *Connection) report(header http2.FrameHeader, s *Stream) {
	c.peer.unreported += header.Length
	if c.peer.unreported > receiveWindowBytes/2 {
		c.urgent = true
		_ = c.framer.WriteWindowUpdate(0, c.peer.unreported)
		c.peer.unreported = 0
	}
	if s == nil || header.Flags.Has(http2.FlagDataEndStream) {
		return
	}
	s.unreported += header.Length
	if s.unreported > receiveWindowBytes/2 {
		c.urgent = true
		_ = c.framer.WriteWindowUpdate(s.id, s.unreported)
		s.unreported = 0
	}
}

func (c *Connection) takeReset(header http2.FrameHeader, payload []byte) error {
	code, err := number(payload, 4)
	s := c.open[header.StreamID]
	if err != nil || s == nil {
		return err
	}
	failure := &transport.Failure{Class: transport.Rejected, Message: "the server reset the stream: " + http2.ErrCode(code).String()}
	if http2.ErrCode(code) == http2.ErrCodeRefusedStream {
		failure.Message, failure.Unprocessed = "the server refused the stream", true
	}
	c.end(s, failure)
	return nil
}

func (c *Connection) takeSettings(header http2.FrameHeader, payload []byte) error {
	if header.Flags.Has(http2.FlagSettingsAck) {
		return nil
	}
	if !c.peer.isSettled {
		c.peer.isSettled, c.peer.streamsMax = true, math.MaxInt
	}
	const settingBytes = 6
	for ; len(payload) >= settingBytes; payload = payload[settingBytes:] {
		value := binary.BigEndian.Uint32(payload[2:])
		switch http2.SettingID(binary.BigEndian.Uint16(payload)) {
		case http2.SettingInitialWindowSize:
			for _, each := range c.open {
				each.window += int64(value) - c.peer.initialWindow
			}
			c.peer.initialWindow = int64(value)
		case http2.SettingMaxFrameSize:
			c.peer.frameBytesMax = min(max(value, frameBytesMax), longestFrameBytes)
		case http2.SettingHeaderTableSize:
			c.headers.limitTable(value)
		case http2.SettingMaxConcurrentStreams:
			c.peer.streamsMax = int(value)
		}
	}
	c.urgent = true
	_ = c.framer.WriteSettingsAck()
	c.writeBlocked()
	c.admitQueued()
	return nil
}

func (c *Connection) takePing(header http2.FrameHeader, payload []byte) error {
	if header.Flags.Has(http2.FlagPingAck) || len(payload) != 8 {
		return nil
	}
	return c.framer.WritePing(true, [8]byte(payload))
}

func (c *Connection) takeGoAway(payload []byte) error {
	last, err := number(payload, 8)
	if err != nil {
		return err
	}
	c.peer.leaving = true
	c.rejectQueued(errLeaving)
	for id, each := range c.open {
		if id > last {
			c.end(each, errLeaving)
		}
	}
	return nil
}

func (c *Connection) takeWindow(header http2.FrameHeader, payload []byte) error {
	more, err := number(payload, 4)
	if err != nil {
		return err
	}
	if header.StreamID == 0 {
		c.peer.window += int64(more)
	} else if s := c.open[header.StreamID]; s != nil {
		s.window += int64(more)
	}
	c.writeBlocked()
	return nil
}
