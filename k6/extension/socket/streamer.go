package socket

import (
	"context"
	"fmt"
	"time"

	"go.k6.io/k6/lib"
	"wirebench.dev/wireload/frame"
)

// Streamer reads streams for Go code, one at a time over one connection, which it opens when it needs
// one and keeps.
type Streamer struct {
	Address  string
	Protobuf bool
	// Reconnect lets a request that finds its kept connection closed go out once more, on a fresh one.
	Reconnect bool

	connection *connection
	payload    []byte
}

// Read sends a request and hands over the body of each reply that says that more follow; it is valid
// until the next one. It returns the status and message of the end mark, or what kept it from coming.
// The context ends it.
func (s *Streamer) Read(
	ctx context.Context, dialer lib.DialContexter, method string, body []byte, item func([]byte),
) (status uint8, message string) {
	if s.connection != nil && s.connection.stale() {
		s.Close()
	}
	items := 0
	counted := func(body []byte) {
		items++
		item(body)
	}
	used := s.connection != nil
	end, err := s.read(ctx, dialer, method, body, counted)
	if s.Reconnect && used && items == 0 && closedBetweenFrames(err) {
		s.Close()
		end, err = s.read(ctx, dialer, method, body, counted)
	}
	if err != nil {
		s.Close() // It is unknown where the next frame starts.
		return failure(err, 0)
	}
	if end.Status == statusResourceExhausted {
		s.Close() // The server closes by itself.
	}
	return end.Status, end.Message
}

// Close closes the connection, if there is one, which cancels the stream on it.
func (s *Streamer) Close() {
	if s.connection != nil {
		s.connection.close()
	}
	s.connection = nil
}

func (s *Streamer) read(
	ctx context.Context, dialer lib.DialContexter, method string, body []byte, item func([]byte),
) (frame.Reply, error) {
	if s.connection == nil {
		preface := frame.PrefaceJSON
		if s.Protobuf {
			preface = frame.PrefaceProtobuf
		}
		var err error
		if s.connection, err = open(ctx, dialer, s.Address, preface); err != nil {
			return frame.Reply{}, err
		}
	}
	opened := s.connection
	id, err := opened.prepare(frame.Request{Method: method, Body: body})
	if err != nil {
		return frame.Reply{}, err
	}
	if err := opened.socket.SetDeadline(time.Time{}); err != nil {
		return frame.Reply{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = opened.socket.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err = opened.socket.Write(opened.out)
	opened.out = opened.out[:0]
	if err != nil {
		return frame.Reply{}, err
	}
	end, err := s.receive(opened, id, item)
	opened.lastUsed = time.Now()
	return end, err
}

// receive reads until the end mark.
func (s *Streamer) receive(opened *connection, id uint32, item func([]byte)) (frame.Reply, error) {
	for {
		payload, err := frame.ReadPayloadInto(opened.reader, s.payload)
		if err != nil {
			return frame.Reply{}, err
		}
		s.payload = payload
		reply, err := frame.ParseReply(payload)
		switch {
		case err != nil:
			return frame.Reply{}, err
		case reply.ID != id:
			return frame.Reply{}, fmt.Errorf("the server answered a request that is not open: %s", reply.Message)
		case !reply.More():
			return reply, nil
		}
		item(reply.Body)
	}
}
