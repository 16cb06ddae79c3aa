package socket

import (
	"net"
	"testing"
	"time"

	"wirebench.dev/services/internal/platform"
)

// A stream that has ended shortens no wait for a request while another one is open.
func TestEndOfOneOfSeveralStreams(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	c := newConnection(&platform.Worker{Settings: &platform.Settings{ReadTimeout: 20 * time.Millisecond}}, accepted)
	read := func() error {
		time.AfterFunc(60*time.Millisecond, func() { _, _ = client.Write([]byte{0}) })
		_, err := c.stream.Read(make([]byte, 1))
		return err
	}
	c.streams.open[7] = &openStream{}
	c.streamEnded()
	if err := read(); err != nil {
		t.Error(err)
	}
	c.streams.forget(7)
	c.streamEnded()
	if read() == nil {
		t.Error("the last one has ended, and nothing limits the wait")
	}
}
