package platform

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// listen returns a listener; port 0 takes a free one, and `::` takes IPv4 clients in as well.
func listen(host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("can't listen on %s: %s; choose another with --host, --port, --admin-port", address, reason(err))
	}
	return listener, nil
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
