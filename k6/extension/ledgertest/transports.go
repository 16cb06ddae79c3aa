package ledgertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"wirebench.dev/wireload/frame"
)

const writeBufferBytes = 64 << 10

func (s *Server) serveREST(t testing.TB, listener net.Listener) {
	server := &http.Server{Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

func (s *Server) handle(writer http.ResponseWriter, request *http.Request) {
	if s.behaves.Refused {
		writer.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(writer, `{"success":false,"data":null,"message":%q}`, Message)
		return
	}
	writer.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	limit, _ := strconv.Atoi(request.URL.Query().Get("limit"))
	out := bufio.NewWriterSize(writer, writeBufferBytes)
	flush := func() error {
		err := out.Flush()
		writer.(http.Flusher).Flush()
		return err
	}
	var event []byte
	err := s.stream(request.Context(), limit, func(id int) error {
		event = fmt.Appendf(event[:0], "id: %d\ndata: ", id)
		event = append(appendJSON(event, id), "\n\n"...)
		_, err := out.Write(event)
		return err
	}, flush)
	switch {
	case errors.Is(err, errCut):
		panic(http.ErrAbortHandler)
	case errors.Is(err, errFail):
		_, _ = fmt.Fprintf(out, "event: error\ndata: {\"message\": %q}\n\n", Message)
	case err == nil:
		_, _ = io.WriteString(out, "event: end\ndata: {}\n\n")
	}
	_ = flush()
}

func (s *Server) call(_ any, stream grpc.ServerStream) error {
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	if s.behaves.Refused {
		return status.Error(codes.InvalidArgument, Message)
	}
	err := s.stream(stream.Context(), limitOf(request), func(id int) error {
		reply := appendProtobuf(nil, id)
		return stream.SendMsg(&reply)
	}, func() error { return nil })
	switch {
	case errors.Is(err, errCut):
		return status.Error(codes.Unavailable, "the connection is lost")
	case errors.Is(err, errFail):
		return status.Error(codes.Internal, Message)
	}
	return err
}

func (s *Server) serveConnection(connection net.Conn) {
	reader := bufio.NewReader(connection)
	preface := make([]byte, len(frame.PrefaceJSON))
	if _, err := io.ReadFull(reader, preface); err != nil {
		return
	}
	for s.serveRequest(connection, reader, string(preface) == frame.PrefaceProtobuf) == nil {
	}
}

func (s *Server) serveRequest(connection net.Conn, reader *bufio.Reader, binary bool) error {
	payload, err := frame.ReadPayload(reader)
	if err != nil {
		return err
	}
	request, err := frame.ParseRequest(payload)
	if err != nil {
		return err
	}
	var asked struct{ Limit int }
	if binary {
		asked.Limit = limitOf(request.Body)
	} else if err := json.Unmarshal(request.Body, &asked); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	next := make(chan struct{})
	go func() {
		defer close(next)
		// The next request, which is left where it is, or the client's hanging up.
		if _, err := reader.Peek(1); err != nil {
			cancel()
		}
	}()
	if err := s.reply(ctx, connection, request.ID, asked.Limit, binary); err != nil {
		return err
	}
	<-next
	return nil
}

func (s *Server) reply(ctx context.Context, connection net.Conn, id uint32, limit int, binary bool) error {
	out := bufio.NewWriterSize(connection, writeBufferBytes)
	var body, encoded []byte
	send := func(reply frame.Reply) error {
		reply.ID = id
		var err error
		if encoded, err = frame.AppendReply(encoded[:0], reply); err == nil {
			_, err = out.Write(encoded)
		}
		return err
	}
	var err error
	if s.behaves.Refused {
		err = errRefused
	} else {
		err = s.stream(ctx, limit, func(id int) error {
			if body = appendJSON(body[:0], id); binary {
				body = appendProtobuf(body[:0], id)
			}
			return send(frame.Reply{Flags: frame.FlagMore, Body: body})
		}, out.Flush)
	}
	end := frame.Reply{}
	switch {
	case errors.Is(err, errRefused):
		end.Status, end.Message = uint8(codes.InvalidArgument), Message
	case errors.Is(err, errFail):
		end.Status, end.Message = uint8(codes.Internal), Message
	case err != nil:
		return err
	}
	return errors.Join(send(end), out.Flush())
}
