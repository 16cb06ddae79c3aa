package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

const (
	prefaceBytes      = 4
	payloadBytesMax   = 4 << 20
	lengthBytes       = 4
	idBytes           = 4
	requestFixedBytes = idBytes + 1
	method            = "users.get"
)

// serveSocket answers users.get in JSON over the socket protocol (proto/socket.md).
func serveSocket(c *connection) error {
	var preface [prefaceBytes]byte
	if _, err := io.ReadFull(c, preface[:]); err != nil {
		return err
	}
	if string(preface[:]) != "WB1J" {
		return fmt.Errorf("unknown preface %q", preface)
	}
	var payload, reply []byte
	for {
		var length [lengthBytes]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(length[:])
		if size < requestFixedBytes+uint32(len(method)) || size > payloadBytesMax {
			return fmt.Errorf("no users.get: a frame of %d bytes", size)
		}
		payload = slices.Grow(payload[:0], int(size))
		request := payload[:size]
		if _, err := io.ReadFull(c, request); err != nil {
			return err
		}
		if request[idBytes] != byte(len(method)) || string(request[requestFixedBytes:][:len(method)]) != method {
			return fmt.Errorf("no users.get: %q", request)
		}
		var user struct{ ID int64 }
		if err := json.Unmarshal(request[requestFixedBytes+len(method):], &user); err != nil {
			return err
		}
		// Status 0, no message.
		reply = append(append(reply[:0], length[:]...), request[:idBytes]...)
		reply = appendUser(append(reply, 0, 0, 0), user.ID)
		binary.BigEndian.PutUint32(reply, uint32(len(reply)-lengthBytes))
		if err := c.answer(reply); err != nil {
			return err
		}
	}
}
