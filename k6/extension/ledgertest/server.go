// Package ledgertest has servers of the ledger's stream for tests: on each transport, with items that
// come when they should, or go wrong as they should.
package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"wirebench.dev/wireload/transport/transporttest"
)

// Transports are those that there are servers for.
var Transports = []string{"rest", "grpc", "socket"}

// Behaviour is how a server's streams go. What is zero doesn't happen.
type Behaviour struct {
	// First is how long the first item takes, and Gap each other one.
	First, Gap time.Duration
	// CutAfter, FailAfter and StallAfter are after how many items the connection is closed, an error is
	// said, and nothing more happens.
	CutAfter, FailAfter, StallAfter int
	// Refused has the server say at once that the request is wrong.
	Refused bool
	// Skip is an item that is left out.
	Skip int
}

// Message is what servers say that fail or reject.
const Message = "limit must be from 1 to 100000"

// Server is one that runs until its test ends, and what it has seen.
type Server struct {
	Address                         string
	Connections, Streams, Cancelled atomic.Int64

	behaves Behaviour
}

// How a stream ends that doesn't come to its end mark.
var (
	errCut     = errors.New("cut")
	errFail    = errors.New(Message)
	errRefused = errors.New(Message)
)

// Start runs a server on a transport.
func Start(t testing.TB, transport string, behaves Behaviour) *Server {
	t.Helper()
	server := &Server{behaves: behaves}
	listener := Listen(t, &server.Connections)
	server.Address = listener.Addr().String()
	switch transport {
	case "rest":
		server.serveREST(t, listener)
	case "grpc":
		ServeGRPC(t, listener, server.call)
	case "socket":
		transporttest.HandleEach(listener, server.serveConnection)
	default:
		t.Fatalf("no transport %q", transport)
	}
	return server
}

// stream sends the items of one stream, and flushes where a wait follows. It returns how it ends.
func (s *Server) stream(ctx context.Context, limit int, send func(id int) error, flush func() error) error {
	s.Streams.Add(1)
	err := s.items(ctx, limit, send, flush)
	if ctx.Err() != nil {
		s.Cancelled.Add(1)
	}
	return err
}

func (s *Server) items(ctx context.Context, limit int, send func(id int) error, flush func() error) error {
	due := time.Now().Add(s.behaves.First)
	for id := 1; id <= limit; id++ {
		if s.behaves.First > 0 || s.behaves.Gap > 0 {
			if err := errors.Join(flush(), sleepUntil(ctx, due)); err != nil {
				return err
			}
			due = due.Add(s.behaves.Gap)
		}
		if id == s.behaves.Skip {
			continue
		}
		if err := send(id); err != nil {
			return err
		}
		switch id {
		case s.behaves.CutAfter:
			return errors.Join(flush(), errCut)
		case s.behaves.FailAfter:
			return errFail
		case s.behaves.StallAfter:
			return errors.Join(flush(), sleepUntil(ctx, time.Now().Add(time.Hour)))
		}
	}
	return nil
}

func sleepUntil(ctx context.Context, due time.Time) error {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// appendJSON appends a transaction of about 200 bytes.
func appendJSON(to []byte, id int) []byte {
	return fmt.Appendf(to, `{"id":%d,"time":1767225600,"from_account_id":1,"to_account_id":2,"amount_cents":100,`+
		`"currency":"EUR","reference":"TX%d","description":"Standing order for the rent of the office"}`, id, id)
}

// appendProtobuf appends the same as a StreamTransactionsResponse.
func appendProtobuf(to []byte, id int) []byte {
	var inner []byte
	for field, value := range []uint64{1: uint64(id), 2: 1767225600, 3: 1, 4: 2, 5: 100} {
		if field > 0 {
			inner = protowire.AppendVarint(protowire.AppendTag(inner, protowire.Number(field), protowire.VarintType), value)
		}
	}
	for field, text := range map[protowire.Number]string{
		6: "EUR", 7: fmt.Sprint("TX", id), 8: "Standing order for the rent of the office",
	} {
		inner = protowire.AppendString(protowire.AppendTag(inner, field, protowire.BytesType), text)
	}
	return protowire.AppendBytes(protowire.AppendTag(to, 1, protowire.BytesType), inner)
}

// limitOf takes the limit from a StreamTransactionsRequest.
func limitOf(message []byte) int {
	for len(message) > 0 {
		number, _, tag := protowire.ConsumeTag(message)
		value, length := protowire.ConsumeVarint(message[tag:])
		if tag < 0 || length < 0 {
			return 0
		}
		if number == 3 {
			return int(value)
		}
		message = message[tag+length:]
	}
	return 0
}
