// Package transporttest has what tests of clients share: servers, also such that have said all in advance.
package transporttest

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// Connection is one whose server has said all in advance.
type Connection struct {
	net.Conn
	Said    bytes.Reader
	Written bytes.Buffer
	// End is what ends it, in place of io.EOF.
	End error
}

// Connect returns a connection whose server says this.
func Connect(said []byte) *Connection {
	c := &Connection{}
	c.Said.Reset(said)
	return c
}

func (c *Connection) Read(into []byte) (int, error) {
	count, err := c.Said.Read(into)
	if err != nil && c.End != nil {
		err = c.End
	}
	return count, err
}

func (c *Connection) Write(from []byte) (int, error) { return c.Written.Write(from) }

// Serve runs a server on loopback that handles each connection so until the test ends, and returns its address.
func Serve(t testing.TB, handle func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	HandleEach(listener, handle)
	return listener.Addr().String()
}

// Dial returns a connection to a server that handles it so.
func Dial(t testing.TB, handle func(net.Conn)) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", Serve(t, handle))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	_ = connection.SetDeadline(time.Now().Add(20 * time.Second))
	return connection
}

// Frames returns what a server says over HTTP/2.
func Frames(write func(*http2.Framer)) []byte {
	var out bytes.Buffer
	write(http2.NewFramer(&out, nil))
	return out.Bytes()
}

// HandleEach handles each connection on a goroutine of its own, and closes it then.
func HandleEach(listener net.Listener, handle func(net.Conn)) {
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = connection.Close() }()
				handle(connection)
			}()
		}
	}()
}

// Reply is a reply of the socket protocol.
type Reply struct {
	ID      uint32
	Status  uint8
	Message string
	Body    []byte
}

// AppendReply appends a reply as a frame.
func AppendReply(dst []byte, reply Reply) []byte {
	const fixedBytes = 7
	dst = binary.BigEndian.AppendUint32(dst, uint32(fixedBytes+len(reply.Message)+len(reply.Body)))
	dst = binary.BigEndian.AppendUint32(dst, reply.ID)
	dst = append(dst, reply.Status)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(reply.Message)))
	dst = append(dst, reply.Message...)
	return append(dst, reply.Body...)
}
