package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	getUserPath        = "/wirebench.v1.UserService/GetUser"
	messageHeadBytes   = 5
	windowBytesDefault = 65_535
	headerTableBytes   = 4096
	timersMax          = 1000
)

// Headers that leave the dynamic table alone are the same bytes in each reply (RFC 7541, 6.1 and 6.2.2).
var (
	replyHeaders = []byte("\x88\x0f\x10\x10application/grpc") // :status 200, content-type
	okTrailers   = []byte("\x00\x0bgrpc-status\x010")
)

func serveGRPC(c *connection) error { return newGRPCConnection(c).serve() }

// grpcConnection answers each call of a connection when it is due, whatever the others do.
type grpcConnection struct {
	*connection
	in *http2.Framer
	// Those that wait for their message.
	paths map[uint32]string
	// Timers that no call uses.
	idle chan *timer

	// Guards what calls write.
	mutex sync.Mutex
	out   *http2.Framer
	// What out has written: a bytes.Buffer takes everything, so that out's errors are ours alone.
	reply bytes.Buffer
	// Those whose replies are in it.
	answered []call
}

// call is a request that was read.
type call struct {
	stream    uint32
	id        int64
	arrived   int64
	isStamped bool
}

func newGRPCConnection(c *connection) *grpcConnection {
	g := &grpcConnection{connection: c, paths: map[uint32]string{}, idle: make(chan *timer, timersMax)}
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
		// Replies that are due at once to calls that came together leave together.
		if err == nil && g.Buffered() == 0 {
			err = g.flush()
		}
	}
	return err
}

func (g *grpcConnection) handle(frame http2.Frame) error {
	stream := frame.Header().StreamID
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			return g.write(g.out.WriteSettingsAck)
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			data := frame.Data
			return g.write(func() error { return g.out.WritePing(true, data) })
		}
	case *http2.MetaHeadersFrame:
		g.paths[stream] = frame.PseudoValue("path")
	case *http2.RSTStreamFrame:
		delete(g.paths, stream)
	case *http2.DataFrame:
		if path, isOpen := g.paths[stream]; isOpen { // neither answered nor reset
			delete(g.paths, stream)
			return g.takeCall(stream, path, frame.Data())
		}
	}
	return nil
}

// takeCall takes a message, which is so short that clients send it in one frame.
func (g *grpcConnection) takeCall(stream uint32, path string, data []byte) error {
	if len(data) < messageHeadBytes || len(data)-messageHeadBytes != int(binary.BigEndian.Uint32(data[1:])) {
		return fmt.Errorf("no users.get: a frame of %d bytes", len(data))
	}
	if path != getUserPath {
		return fmt.Errorf("no users.get: %s", path)
	}
	made := call{stream, idOf(data[messageHeadBytes:]), g.stamped.arrived, g.stamped.isStamped}
	if delay := g.draw(made.arrived); delay > 0 {
		go g.answerLater(made, delay)
		return nil
	}
	return g.answerCall(made)
}

// answerLater answers when the behaviour wants it to. A client that has gone is noticed by what reads from it.
func (g *grpcConnection) answerLater(made call, delay time.Duration) {
	var alarm *timer
	select {
	case alarm = <-g.idle:
	default:
		alarm = &timer{}
	}
	if alarm.wait(time.Until(time.Unix(0, made.arrived).Add(delay))) == nil && g.answerCall(made) == nil {
		_ = g.flush()
	}
	select {
	case g.idle <- alarm:
	default:
		alarm.close()
	}
}

// answerCall writes a reply that leaves with the next flush.
func (g *grpcConnection) answerCall(made call) error {
	message := appendResponse(make([]byte, messageHeadBytes, 128), made.id)
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-messageHeadBytes))
	return g.write(func() error {
		g.answered = append(g.answered, made)
		return errors.Join(
			g.out.WriteHeaders(http2.HeadersFrameParam{StreamID: made.stream, BlockFragment: replyHeaders, EndHeaders: true}),
			g.out.WriteData(made.stream, false, message),
			g.out.WriteHeaders(http2.HeadersFrameParam{StreamID: made.stream, BlockFragment: okTrailers, EndHeaders: true, EndStream: true}),
		)
	})
}

func (g *grpcConnection) write(frames func() error) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return frames()
}

// flush sends what was written, and logs the calls that this answers.
func (g *grpcConnection) flush() error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.reply.Len() == 0 {
		return nil
	}
	if _, err := g.reply.WriteTo(g.tcp); err != nil {
		return err
	}
	ended := time.Now().UnixNano()
	for _, each := range g.answered {
		g.server.log.add(request{arrived: each.arrived, ended: ended}, each.isStamped)
	}
	g.answered = g.answered[:0]
	return nil
}
