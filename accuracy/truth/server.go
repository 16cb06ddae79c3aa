package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// transport serves one connection until its client hangs up or breaks the protocol.
type transport func(*connection) error

func newTransport(name string) (transport, error) {
	switch name {
	case "rest":
		return serveREST, nil
	case "grpc":
		return serveGRPC, nil
	case "socket":
		return serveSocket, nil
	}
	return nil, fmt.Errorf("unknown transport %q: choose rest, grpc or socket", name)
}

// server answers each connection in a goroutine of its own, one request after the other; gRPC's calls don't wait for each
// other.
type server struct {
	serve transport
	delay func(sinceFirst time.Duration, random *rand.Rand) time.Duration
	log   *requestLog
	seed  uint64
	// When the first request arrived, in Unix ns; 0 before.
	first atomic.Int64
}

func (s *server) accept(listener net.Listener) error {
	for number := uint64(0); ; number++ {
		accepted, err := listener.Accept()
		if err != nil {
			return err
		}
		go s.serveConnection(accepted.(*net.TCPConn), rand.New(rand.NewPCG(s.seed, number)))
	}
}

func (s *server) serveConnection(tcp *net.TCPConn, random *rand.Rand) {
	defer tcp.Close()
	stamped, err := newStampedReader(tcp)
	if err == nil {
		c := &connection{Reader: bufio.NewReader(stamped), tcp: tcp, server: s, stamped: stamped, random: random}
		defer c.alarm.close()
		err = s.serve(c)
	}
	if !isHangUp(err) {
		fmt.Fprintf(os.Stderr, "truth: %s: %v\n", tcp.RemoteAddr(), err)
	}
}

// isHangUp reports whether a client went away, which is how connections end.
func isHangUp(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// connection is one client, whose bytes are read through the embedded reader.
type connection struct {
	*bufio.Reader
	tcp     *net.TCPConn
	server  *server
	stamped *stampedReader
	alarm   timer
	random  *rand.Rand
}

// draw returns how long after its arrival a request is answered.
func (c *connection) draw(arrived int64) time.Duration {
	c.server.first.CompareAndSwap(0, arrived)
	return c.server.delay(time.Duration(arrived-c.server.first.Load()), c.random)
}

// answer replies to the request that was just read, when the behaviour wants it to, and logs it.
func (c *connection) answer(reply []byte) error {
	arrived := c.stamped.arrived
	if err := c.alarm.wait(time.Until(time.Unix(0, arrived).Add(c.draw(arrived)))); err != nil {
		return err
	}
	if _, err := c.tcp.Write(reply); err != nil {
		return err
	}
	c.server.log.add(request{arrived: arrived, ended: time.Now().UnixNano()}, c.stamped.isStamped)
	return nil
}
