package platform

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// How much of what is sent to a client may wait in the kernel to go out. Its buffer grows to megabytes, and takes more
// only when a third of that has been read: a client that reads slowly couldn't be told from one that reads nothing.
const unsentBytesMax = 128 * 1024

// listen returns a listener; port 0 takes a free one, and `::` takes IPv4 clients in as well.
func listen(host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	config := net.ListenConfig{Control: limitUnsent}
	// Go would listen by Multipath TCP, whose listeners don't hand their options on. No other service does.
	config.SetMultipathTCP(false)
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("can't listen on %s: %s; choose another with --host, --port, --admin-port", address, reason(err))
	}
	return listener, nil
}

// limitUnsent sets the limit for all connections that a listener will accept.
func limitUnsent(_, _ string, listener syscall.RawConn) error {
	return listener.Control(func(descriptor uintptr) {
		// A system without it serves all the same.
		_ = unix.SetsockoptInt(int(descriptor), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentBytesMax)
	})
}

// reason returns what the system has said, in its own words.
func reason(err error) string {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return err.Error()
	}
	words := number.Error() // those of strerror(3), but for the capital
	return strings.ToUpper(words[:1]) + words[1:]
}
