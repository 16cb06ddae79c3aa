package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	getUserPath        = "/wirebench.v1.UserService/GetUser"
	messageHeadBytes   = 5
	windowBytesDefault = 65_535
	headerTableBytes   = 4096
)

// Headers that leave the dynamic table alone are the same bytes in each reply (RFC 7541, 6.1 and 6.2.2).
var (
	replyHeaders = []byte("\x88\x0f\x10\x10application/grpc") // :status 200, content-type
	okTrailers   = []byte("\x00\x0bgrpc-status\x010")
)

func serveGRPC(c *connection) error { return newGRPCConnection(c).serve() }

// grpcConnection answers the calls of a connection one after the other, in the order in which they are complete.
type grpcConnection struct {
	*connection
	in, out *http2.Framer
	// What out has written: a bytes.Buffer takes everything, so that out's errors are ours alone.
	reply bytes.Buffer
	// Those that wait for their message.
	paths map[uint32]string
}

func newGRPCConnection(c *connection) *grpcConnection {
	g := &grpcConnection{connection: c, paths: map[uint32]string{}}
	g.in = http2.NewFramer(io.Discard, c.Reader)
	g.in.ReadMetaHeaders = hpack.NewDecoder(headerTableBytes, nil)
	g.in.SetReuseFrames()
	g.out = http2.NewFramer(&g.reply, nil)
	return g
}

func (g *grpcConnection) serve() error {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(g, preface); err != nil {
		return err
	}
	if string(preface) != http2.ClientPreface {
		return fmt.Errorf("unknown preface %q", preface)
	}
	// So large a window needs no update in the life of a connection.
	err := errors.Join(g.out.WriteSettings(), g.out.WriteWindowUpdate(0, math.MaxInt32-windowBytesDefault), g.flush())
	for err == nil {
		var frame http2.Frame
		if frame, err = g.in.ReadFrame(); err == nil {
			err = g.handle(frame)
		}
	}
	return err
}

func (g *grpcConnection) handle(frame http2.Frame) error {
	stream := frame.Header().StreamID
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			return errors.Join(g.out.WriteSettingsAck(), g.flush())
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			return errors.Join(g.out.WritePing(true, frame.Data), g.flush())
		}
	case *http2.MetaHeadersFrame:
		g.paths[stream] = frame.PseudoValue("path")
	case *http2.RSTStreamFrame:
		delete(g.paths, stream)
	case *http2.DataFrame:
		if path, isOpen := g.paths[stream]; isOpen { // neither answered nor reset
			delete(g.paths, stream)
			return g.answerCall(stream, path, frame.Data())
		}
	}
	return nil
}

// answerCall answers a message, which is so short that clients send it in one frame.
func (g *grpcConnection) answerCall(stream uint32, path string, data []byte) error {
	if len(data) < messageHeadBytes || len(data)-messageHeadBytes != int(binary.BigEndian.Uint32(data[1:])) {
		return fmt.Errorf("no users.get: a frame of %d bytes", len(data))
	}
	if path != getUserPath {
		return fmt.Errorf("no users.get: %s", path)
	}
	message := appendResponse(make([]byte, messageHeadBytes, 128), idOf(data[messageHeadBytes:]))
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-messageHeadBytes))
	err := errors.Join(
		g.out.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: replyHeaders, EndHeaders: true}),
		g.out.WriteData(stream, false, message),
		g.out.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: okTrailers, EndHeaders: true, EndStream: true}),
	)
	if err != nil {
		return err
	}
	defer g.reply.Reset()
	return g.answer(g.reply.Bytes())
}

// flush writes what isn't the answer to a measured request.
func (g *grpcConnection) flush() error {
	defer g.reply.Reset()
	_, err := g.tcp.Write(g.reply.Bytes())
	return err
}
