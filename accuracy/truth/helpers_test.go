package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/encoding/protowire"
)

// start serves on a free port until the test ends.
func start(t *testing.T, transport string, b behaviour) (*server, string) {
	t.Helper()
	serve, err := newTransport(transport)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := listenStamped("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	s := &server{serve: serve, delay: b.delay, log: newRequestLog(), seed: 1}
	go s.accept(listener)
	return s, listener.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

// exchange sends a users.get and returns the body of its reply.
type exchange func(id int) ([]byte, error)

// clients open a connection of each transport.
var clients = map[string]func(net.Conn) exchange{"rest": overREST, "grpc": overGRPC, "socket": overSocket}

func overREST(connection net.Conn) exchange {
	reader := bufio.NewReader(connection)
	return func(id int) ([]byte, error) {
		fmt.Fprintf(connection, "GET /api/users/%d HTTP/1.1\r\nHost: truth\r\n\r\n", id)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(response.Body)
	}
}

func overSocket(connection net.Conn) exchange {
	io.WriteString(connection, "WB1J")
	return func(id int) ([]byte, error) {
		body := fmt.Sprintf(`{"id":%d}`, id)
		frame := binary.BigEndian.AppendUint32(nil, uint32(4+1+len(method)+len(body)))
		frame = append(frame, 0, 0, 0, 7, byte(len(method)))
		connection.Write(append(append(frame, method...), body...))
		head := make([]byte, 4+8)
		if _, err := io.ReadFull(connection, head); err != nil {
			return nil, err
		}
		if !bytes.Equal(head[4:], []byte{0, 0, 0, 7, 0, 0, 0, 0}) {
			return nil, fmt.Errorf("reply begins with %v", head)
		}
		reply := make([]byte, binary.BigEndian.Uint32(head)-8)
		_, err := io.ReadFull(connection, reply)
		return reply, err
	}
}

func overGRPC(connection net.Conn) exchange {
	send, receive := openGRPC(connection)
	return func(id int) ([]byte, error) {
		send(id)
		return receive()
	}
}

func openGRPC(connection net.Conn) (send func(id int), receive func() ([]byte, error)) {
	var block, out bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	writer, reader := http2.NewFramer(&out, nil), http2.NewFramer(nil, connection)
	reader.ReadMetaHeaders = hpack.NewDecoder(headerTableBytes, nil)
	out.WriteString(http2.ClientPreface)
	writer.WriteSettings()
	stream := uint32(1)
	send = func(id int) {
		message := protowire.AppendVarint([]byte{0, 0, 0, 0, 0, 1 << 3}, uint64(id))
		message[4] = byte(len(message) - messageHeadBytes)
		block.Reset()
		encoder.WriteField(hpack.HeaderField{Name: ":path", Value: getUserPath})
		writer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true})
		writer.WriteData(stream, true, message)
		connection.Write(out.Bytes())
		out.Reset()
		stream += 2
	}
	return send, func() ([]byte, error) { return readReply(reader) }
}

func readReply(reader *http2.Framer) ([]byte, error) {
	var body []byte
	for {
		frame, err := reader.ReadFrame()
		if err != nil {
			return nil, err
		}
		switch frame := frame.(type) {
		case *http2.DataFrame:
			body = bytes.Clone(frame.Data())
		case *http2.MetaHeadersFrame:
			if frame.StreamEnded() {
				if status := frame.Fields[0]; status.Name != "grpc-status" || status.Value != "0" {
					return nil, fmt.Errorf("trailers begin with %v", status)
				}
				return body, nil
			}
			if status := frame.PseudoValue("status"); status != "200" {
				return nil, fmt.Errorf("status %s", status)
			}
		}
	}
}

// logged returns the requests so far.
func (s *server) logged() []request {
	s.log.mutex.Lock()
	defer s.log.mutex.Unlock()
	return slices.Clone(s.log.requests)
}
