// Truth is a server whose latency is known: it answers users.get on one transport, keeps when each request arrived and
// when its reply had been written, and says afterwards what the latencies of a window were.
//
//	truth -transport rest -listen 127.0.0.1:5000 -admin 127.0.0.1:5001 -behaviour constant -latency 5ms
//
// A line "START END" (Unix ns) sent to the admin address is answered by a line of JSON: the truth about the requests
// that ended from START to before END.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
)

func main() {
	transport := flag.String("transport", "rest", "what to speak: rest, grpc or socket")
	listen := flag.String("listen", "127.0.0.1:0", "address of the server")
	admin := flag.String("admin", "127.0.0.1:0", "address that tells the truth")
	seed := flag.Uint64("seed", 1, "seed of the random latencies")
	var b behaviour
	b.register(flag.CommandLine)
	flag.Parse()
	err := b.check()
	if flag.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if err == nil {
		var serve func(*connection) error
		if serve, err = newTransport(*transport); err == nil {
			err = run(&server{serve: serve, delay: b.delay, log: newRequestLog(), seed: *seed}, *listen, *admin)
		}
	}
	fmt.Fprintln(os.Stderr, "truth:", err)
	os.Exit(2)
}

// run serves until one of the addresses fails.
func run(s *server, address, adminAddress string) error {
	listener, err := listenStamped(address)
	if err != nil {
		return err
	}
	admin, err := net.Listen("tcp", adminAddress)
	if err != nil {
		return err
	}
	fmt.Printf("serves on %s, admin on %s\n", listener.Addr(), admin.Addr())
	failed := make(chan error)
	go func() { failed <- s.accept(listener) }()
	go func() { failed <- s.log.answer(admin) }()
	return <-failed
}
