package main

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"
)

// serveREST answers GET /api/users/{id} over HTTP/1.1.
func serveREST(c *connection) error {
	var request fasthttp.Request
	var body, reply []byte
	for {
		if err := request.Read(c.Reader); err != nil {
			return err
		}
		digits, isUser := bytes.CutPrefix(request.Header.RequestURI(), []byte("/api/users/"))
		id, err := strconv.ParseInt(string(digits), 10, 32)
		if !isUser || err != nil || !request.Header.IsGet() {
			return fmt.Errorf("no users.get: %s %s", request.Header.Method(), request.Header.RequestURI())
		}
		body = appendEnvelope(body[:0], id)
		reply = append(reply[:0], "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "...)
		reply = append(strconv.AppendInt(reply, int64(len(body)), 10), "\r\n\r\n"...)
		reply = append(reply, body...)
		if err := c.answer(reply); err != nil || request.ConnectionClose() {
			return err
		}
	}
}
