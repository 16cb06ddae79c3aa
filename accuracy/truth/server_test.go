package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A request that comes while the one before it is being answered waits in the kernel, which knows since when. The
// kernel may need a moment to begin with its timestamps.
func TestWaitInSocketCounts(t *testing.T) {
	for range 10 {
		s, address := start(t, behaviour{name: "constant", latency: 100 * time.Millisecond})
		connection := dial(t, address)
		for range 2 {
			io.WriteString(connection, "GET /api/users/1 HTTP/1.1\r\nHost: truth\r\n\r\n")
			time.Sleep(20 * time.Millisecond) // so that the server reads the first alone
		}
		logged := s.logged()
		for ; len(logged) < 2; logged = s.logged() {
			time.Sleep(time.Millisecond)
		}
		if logged[1].arrived < logged[0].ended {
			return
		}
	}
	t.Error("the second request arrived after the first had been answered")
}

func TestWindowsAreToldByTheEndsOfRequests(t *testing.T) {
	log := newRequestLog()
	for end := range int64(1000) {
		log.add(request{arrived: end*1e6 - 1 - end*1000, ended: end * 1e6}, end%2 == 0)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go log.answer(listener)
	admin := dial(t, listener.Addr().String())
	answers := bufio.NewReader(admin)
	for line, want := range map[string]string{
		"100000000 200000000": `{"requests":100,"requests_without_kernel_timestamp":500,"requests_lost":0,"histogram":"`,
		"0 0":                 `{"requests":0,`,
		"soon later":          `"soon later" isn't START END in Unix ns`,
	} {
		fmt.Fprintln(admin, line)
		if answer, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(answer, want) {
			t.Errorf("%s: %s, %v: want %s", line, answer, err, want)
		}
	}
}

func TestFullLogSaysWhatItLost(t *testing.T) {
	log := newRequestLog()
	for range requestsMax + 3 {
		log.add(request{ended: 1}, true)
	}
	if got := log.truth(0, 2); got.Requests != requestsMax || got.Lost != 3 {
		t.Errorf("%d requests, %d lost", got.Requests, got.Lost)
	}
}
