package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"
)

const (
	fixedID           = 1_000_001
	fixedReadBytes    = 64 << 10
	frameHeadBytes    = 9
	frameTypeOffset   = 3
	frameFlagsOffset  = 4
	frameStreamOffset = 5
)

// fixedParser takes the whole requests at the beginning of in and appends their replies to out; the rest of in comes
// again, with more behind it.
type fixedParser func(in, out []byte) (rest, replies []byte, err error)

// newFixedParser returns what reads one connection.
func newFixedParser(transport string) (fixedParser, error) {
	switch transport {
	case "rest":
		body := appendEnvelope(nil, fixedID)
		head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
		return parseFixedREST(append([]byte(head), body...)), nil
	case "grpc":
		return parseFixedGRPC(), nil
	case "socket":
		reply := appendUser(make([]byte, lengthBytes+idBytes+4), fixedID)
		binary.BigEndian.PutUint32(reply, uint32(len(reply)-lengthBytes))
		return parseFixedSocket(reply), nil
	}
	return nil, errUnknownTransport(transport)
}

func parseFixedREST(reply []byte) fixedParser {
	end := []byte("\r\n\r\n")
	return func(in, out []byte) ([]byte, []byte, error) {
		for {
			at := bytes.Index(in, end)
			if at < 0 {
				return in, out, nil
			}
			in, out = in[at+len(end):], append(out, reply...)
		}
	}
}

func parseFixedSocket(reply []byte) fixedParser {
	begun := false
	return func(in, out []byte) ([]byte, []byte, error) {
		if !begun {
			if len(in) < prefaceBytes {
				return in, out, nil
			}
			begun, in = true, in[prefaceBytes:]
		}
		for len(in) >= lengthBytes {
			size := int(binary.BigEndian.Uint32(in))
			if size < idBytes || size > payloadBytesMax {
				return nil, out, fmt.Errorf("a frame of %d bytes", size)
			}
			if len(in) < lengthBytes+size {
				break
			}
			copy(reply[lengthBytes:], in[lengthBytes:lengthBytes+idBytes])
			in, out = in[lengthBytes+size:], append(out, reply...)
		}
		return in, out, nil
	}
}

// parseFixedGRPC takes the end of a stream for a call, and reads no headers.
func parseFixedGRPC() fixedParser {
	var hello, reply bytes.Buffer
	framer := http2.NewFramer(&hello, nil)
	_ = framer.WriteSettings()
	_ = framer.WriteWindowUpdate(0, math.MaxInt32-windowBytesDefault)
	message := appendResponse(make([]byte, messageHeadBytes), fixedID)
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-messageHeadBytes))
	framer = http2.NewFramer(&reply, nil)
	streams := []int{frameStreamOffset}
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: replyHeaders, EndHeaders: true})
	streams = append(streams, reply.Len()+frameStreamOffset)
	_ = framer.WriteData(1, false, message)
	streams = append(streams, reply.Len()+frameStreamOffset)
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: okTrailers, EndHeaders: true, EndStream: true})

	begun := false
	return func(in, out []byte) ([]byte, []byte, error) {
		if !begun {
			if len(in) < len(http2.ClientPreface) {
				return in, out, nil
			}
			begun, in, out = true, in[len(http2.ClientPreface):], append(out, hello.Bytes()...)
		}
		for len(in) >= frameHeadBytes {
			end := frameHeadBytes + int(binary.BigEndian.Uint32(in)>>8)
			if len(in) < end {
				break
			}
			flags := http2.Flags(in[frameFlagsOffset])
			switch kind := http2.FrameType(in[frameTypeOffset]); {
			case kind == http2.FrameData && flags.Has(http2.FlagDataEndStream):
				for _, offset := range streams {
					copy(reply.Bytes()[offset:], in[frameStreamOffset:frameHeadBytes])
				}
				out = append(out, reply.Bytes()...)
			case (kind == http2.FrameSettings || kind == http2.FramePing) && !flags.Has(http2.FlagSettingsAck):
				// An acknowledgement is the same frame for a ping, and one without settings.
				ack := len(out)
				out = append(out, in[:end]...)
				out[ack+frameFlagsOffset] = byte(http2.FlagSettingsAck)
				if kind == http2.FrameSettings {
					out = out[:ack+frameHeadBytes]
					copy(out[ack:], "\x00\x00\x00")
				}
			}
			in = in[end:]
		}
		return in, out, nil
	}
}

// fixedServer answers each request on all its connections from one loop with the same bytes, and keeps no log: it takes
// less of a processor than any driver, so that it is the driver that is full.
type fixedServer struct {
	transport string
	epoll     int
	clients   map[int]*fixedClient
	in, out   []byte
}

type fixedClient struct {
	parse fixedParser
	// The beginning of a request.
	rest []byte
}

// runFixed serves until the listener fails; there is nothing to tell at an admin address.
func runFixed(transport, address string) error {
	if _, err := newFixedParser(transport); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("serves on %s\n", listener.Addr())
	return serveFixed(listener.(*net.TCPListener), transport)
}

func serveFixed(listener *net.TCPListener, transport string) error {
	file, err := listener.File()
	if err != nil {
		return err
	}
	defer file.Close()
	accepts := int(file.Fd())
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	defer unix.Close(epoll)
	s := &fixedServer{transport, epoll, map[int]*fixedClient{}, make([]byte, fixedReadBytes), nil}
	if err := s.watch(accepts); err != nil {
		return err
	}
	events := make([]unix.EpollEvent, 64)
	for {
		count, err := unix.EpollWait(epoll, events, -1)
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("epoll_wait", err)
		}
		for _, event := range events[:max(count, 0)] {
			if fd := int(event.Fd); fd == accepts {
				err = s.accept(accepts)
			} else if s.answer(fd) {
				continue
			} else {
				delete(s.clients, fd)
				err = unix.Close(fd)
			}
			if err != nil {
				return err
			}
		}
	}
}

func (s *fixedServer) watch(fd int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &event))
}

func (s *fixedServer) accept(listener int) error {
	fd, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("accept4", err)
	}
	parse, _ := newFixedParser(s.transport)
	s.clients[fd] = &fixedClient{parse: parse}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	return s.watch(fd)
}

// answer reports whether the client is still there, and reads its replies.
func (s *fixedServer) answer(fd int) bool {
	client := s.clients[fd]
	count, err := unix.Read(fd, s.in)
	if err == unix.EAGAIN || err == unix.EINTR {
		return true
	}
	if err != nil || count == 0 {
		return false
	}
	in := s.in[:count]
	if len(client.rest) > 0 {
		client.rest = append(client.rest, in...)
		in = client.rest
	}
	rest, out, err := client.parse(in, s.out[:0])
	s.out = out
	client.rest = append(client.rest[:0], rest...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		return false
	}
	if len(out) == 0 {
		return true
	}
	written, err := unix.Write(fd, out)
	return err == nil && written == len(out)
}
