package platform

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// Of what a client doesn't read, little waits in the kernel, on every connection.
func TestUnsent(t *testing.T) {
	listener, err := listen("127.0.0.1", 0)
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
	raw, err := accepted.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(descriptor uintptr) {
		limit, err := unix.GetsockoptInt(int(descriptor), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
		if err != nil || limit != unsentBytesMax {
			t.Errorf("%d, %v", limit, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
