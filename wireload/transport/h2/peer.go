package h2

import (
	"encoding/binary"
	"errors"

	"golang.org/x/net/http2"
	"wirebench.dev/wireload/transport"
)

// peer is what is known of the server's side of a connection.
type peer struct {
	// stream is the id of the last stream; 0 before the first.
	stream                         uint32
	connectionWindow, streamWindow int64
	initialWindow                  int64
	frameBytesMax                  uint32
	// leaving is set by GOAWAY; lastStream is the last that the server processes.
	leaving    bool
	lastStream uint32
	// unreported is what came of replies since the server last heard of room for more, on the connection and the stream.
	unreported, streamUnreported uint32
}

func newPeer() peer {
	return peer{connectionWindow: windowBytes, initialWindow: windowBytes, frameBytesMax: frameBytesMax}
}

func (p *peer) nextStream() {
	if p.stream == 0 {
		p.stream = 1
	} else {
		p.stream += 2
	}
	p.streamWindow, p.streamUnreported = p.initialWindow, 0
}

// take acts on a frame.
func (c *Connection) take(header http2.FrameHeader, payload []byte) error {
	if c.reply.inHeaders && header.Type != http2.FrameContinuation {
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

// takeReply takes what the stream itself consists of. No other stream can be open: a connection whose stream hasn't ended
// isn't used again.
func (c *Connection) takeReply(header http2.FrameHeader, payload []byte) error {
	if header.Type == http2.FrameData {
		if err := c.report(header); err != nil {
			return err
		}
	}
	if header.StreamID != c.peer.stream {
		return transport.NewGarbage("the server answered a stream that is not open")
	}
	return c.reply.take(header, payload)
}

// report gives the server room for more when half of it is used.
func (c *Connection) report(header http2.FrameHeader) error {
	c.peer.unreported += header.Length
	c.peer.streamUnreported += header.Length
	var err error
	c.urgent = c.urgent || max(c.peer.unreported, c.peer.streamUnreported) > receiveWindowBytes/2
	if c.peer.unreported > receiveWindowBytes/2 {
		err = c.framer.WriteWindowUpdate(0, c.peer.unreported)
		c.peer.unreported = 0
	}
	if c.peer.streamUnreported > receiveWindowBytes/2 && !header.Flags.Has(http2.FlagDataEndStream) {
		err = errors.Join(err, c.framer.WriteWindowUpdate(header.StreamID, c.peer.streamUnreported))
		c.peer.streamUnreported = 0
	}
	return err
}

func (c *Connection) takeReset(header http2.FrameHeader, payload []byte) error {
	code, err := number(payload, 4)
	if err != nil || header.StreamID != c.peer.stream {
		return err
	}
	if http2.ErrCode(code) == http2.ErrCodeRefusedStream {
		return &transport.Failure{Class: transport.Rejected, Message: "the server refused the stream", Unprocessed: true}
	}
	message := "the server reset the stream: " + http2.ErrCode(code).String()
	return &transport.Failure{Class: transport.Rejected, Message: message}
}

func (c *Connection) takeSettings(header http2.FrameHeader, payload []byte) error {
	if header.Flags.Has(http2.FlagSettingsAck) {
		return nil
	}
	const settingBytes = 6
	for ; len(payload) >= settingBytes; payload = payload[settingBytes:] {
		value := binary.BigEndian.Uint32(payload[2:])
		switch http2.SettingID(binary.BigEndian.Uint16(payload)) {
		case http2.SettingInitialWindowSize:
			c.peer.streamWindow += int64(value) - c.peer.initialWindow
			c.peer.initialWindow = int64(value)
		case http2.SettingMaxFrameSize:
			c.peer.frameBytesMax = min(max(value, frameBytesMax), longestFrameBytes)
		case http2.SettingHeaderTableSize:
			c.headers.limitTable(value)
		}
	}
	c.urgent = true
	return errors.Join(c.framer.WriteSettingsAck(), c.writeBody())
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
	c.peer.leaving, c.peer.lastStream = true, last
	if c.peer.stream > last {
		return &transport.Failure{Class: transport.Closed, Message: "the server is leaving", Unprocessed: true}
	}
	return nil
}

func (c *Connection) takeWindow(header http2.FrameHeader, payload []byte) error {
	more, err := number(payload, 4)
	if err != nil {
		return err
	}
	switch header.StreamID {
	case 0:
		c.peer.connectionWindow += int64(more)
	case c.peer.stream:
		c.peer.streamWindow += int64(more)
	}
	c.urgent = c.urgent || len(c.rest) > 0
	return c.writeBody()
}
