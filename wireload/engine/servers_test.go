package engine

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/grpc"
	"wirebench.dev/wireload/transport/rest"
	"wirebench.dev/wireload/transport/socket"
	"wirebench.dev/wireload/transport/transporttest"
)

// protocol is a transport with a server for it that allocates nothing: it counts requests, and answers a constant.
type protocol struct {
	newClient func(address string) transport.Client
	request   request.Request
	// readRequest reads one request of a connection.
	readRequest func(*bufio.Reader) error
	// reply is what answers the nth request of a connection, counted from 0.
	reply func(n int) []byte
	// connections are how many the users share; 0: each has its own.
	connections int
}

const body = `{"data":{"id":1}}`

var protocols = map[string]protocol{
	"rest": {
		newClient:   func(address string) transport.Client { return rest.New(address, false) },
		request:     request.Request{Operation: "get", Method: "GET", Path: []byte("/api/users/1")},
		readRequest: readLines,
		reply:       func(int) []byte { return restReply },
	},
	"h2c": {
		newClient:   func(address string) transport.Client { return rest.NewH2C(address) },
		request:     request.Request{Operation: "get", Method: "GET", Path: []byte("/api/users/1")},
		readRequest: readHTTP2,
		reply:       h2cReply,
	},
	"grpc": {
		newClient:   func(address string) transport.Client { return grpc.New(address, false, time.Second) },
		request:     request.Request{Operation: "get", Path: []byte("/users/Get"), Body: []byte("\x08\x01")},
		readRequest: readHTTP2,
		reply:       grpcReply,
	},
	"lines": {
		newClient:   func(string) transport.Client { return socket.New(false) },
		request:     request.Request{Operation: "ping", Body: []byte("PING")},
		readRequest: func(r *bufio.Reader) error { _, err := r.ReadSlice('\n'); return err },
		reply:       func(int) []byte { return []byte("PONG\n") },
	},
	"socket": {
		newClient:   func(string) transport.Client { return socket.New(false) },
		request:     request.Request{Operation: "get", Path: []byte("users.get"), Body: []byte(`{"id":1}`)},
		readRequest: readFrame,
		reply:       socketReply,
	},
}

var restReply = []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n" + body)

// readLines reads a request without a body.
func readLines(r *bufio.Reader) error {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil || len(line) <= 2 {
			return err
		}
	}
}

// readFrame skips the preface, which no length begins with.
func readFrame(r *bufio.Reader) error {
	head, err := r.Peek(4)
	if err != nil {
		return err
	}
	if bytes.Equal(head, []byte("WB1J")) {
		_, _ = r.Discard(4)
		if head, err = r.Peek(4); err != nil {
			return err
		}
	}
	_, err = r.Discard(4 + int(binary.BigEndian.Uint32(head)))
	return err
}

// socketReply answers ids that count from 1.
func socketReply(n int) []byte {
	reply := transporttest.AppendReply(nil, transporttest.Reply{ID: uint32(n + 1), Body: []byte(body)})
	return reply
}

// readHTTP2 reads frames until a stream ends.
func readHTTP2(r *bufio.Reader) error {
	head, err := r.Peek(4)
	if err != nil {
		return err
	}
	if string(head) == http2.ClientPreface[:4] {
		_, _ = r.Discard(len(http2.ClientPreface))
	}
	for {
		header, err := http2.ReadFrameHeader(r)
		if err != nil {
			return err
		}
		if _, err := r.Discard(int(header.Length)); err != nil {
			return err
		}
		if header.Flags.Has(http2.FlagDataEndStream) && (header.Type == http2.FrameData || header.Type == http2.FrameHeaders) {
			return nil
		}
	}
}

// grpcReply is SETTINGS first, then for each stream headers, a message and trailers.
func grpcReply(n int) []byte {
	var block bytes.Buffer
	_ = hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: "grpc-status", Value: "0"})
	trailers := block.Bytes()
	if n > 0 { // By then it has the first place in the table.
		trailers = []byte{0x80 | 62}
	}
	return http2Reply(n, "\x00\x00\x00\x00\x02\x08\x01", trailers)
}

// h2cReply is SETTINGS first, then for each stream headers and a body.
func h2cReply(n int) []byte { return http2Reply(n, body, nil) }

func http2Reply(n int, data string, trailers []byte) []byte {
	var out bytes.Buffer
	framer := http2.NewFramer(&out, nil)
	if n == 0 {
		_ = framer.WriteSettings()
	}
	head := http2.HeadersFrameParam{StreamID: uint32(2*n + 1), BlockFragment: []byte{0x80 | 8}, EndHeaders: true} // Status 200.
	_ = framer.WriteHeaders(head)
	_ = framer.WriteData(head.StreamID, trailers == nil, []byte(data))
	if trailers != nil {
		head.BlockFragment, head.EndStream = trailers, true
		_ = framer.WriteHeaders(head)
	}
	return out.Bytes()
}

// answering handles a connection as a good server does, after so long for each request.
func (p protocol) answering(takes time.Duration) func(net.Conn) {
	return func(connection net.Conn) {
		reader := bufio.NewReader(connection)
		if p.connections > 0 {
			_, _ = connection.Write(h2cReply(0)[:9]) // SETTINGS, which come with the first reply only.
		}
		for n := 0; p.readRequest(reader) == nil; n++ {
			time.Sleep(takes)
			if _, err := connection.Write(p.reply(n)); err != nil {
				return
			}
		}
	}
}

// load is a closed load of one user on a service.
func (p protocol) load(address string, duration time.Duration) *Load {
	return &Load{
		Addresses: []string{address}, NewClient: p.newClient, NewSource: func(int) request.Source { return &request.Constant{Request: p.request} },
		Users: 1, Duration: duration, Timeout: 5 * time.Second, Measured: histogram.Options{Window: duration},
	}
}

func measure(t *testing.T, load *Load) histogram.File {
	t.Helper()
	measured, err := Run(t.Context(), load, "test")
	if err != nil {
		t.Fatal(err)
	}
	return measured
}
