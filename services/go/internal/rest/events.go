package rest

import (
	"bufio"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/operations"
)

const (
	// Server-Sent Events (WHATWG HTML, section 9.2).
	eventType = "text/event-stream"
	// Events are news, and of no use to anybody later.
	eventCacheControl = "no-cache"
	eventBufferBytes  = 16 * 1024
)

// open begins the stream that a request asks for; its events are JSON, whatever the client accepts.
func (s *Server) open(exchange exchange, body []byte, given []operations.Given) result {
	name := operations.StreamTransactions.Name
	stream, err := operations.OpenTransactions(s.worker.Application, exchange.codec, operations.JSON{}, body, given...)
	if err != nil {
		return refused(name, statuses[err.Code], err)
	}
	return result{operation: name, status: http.StatusOK, contentType: eventType, stream: stream}
}

// sendEvents sends a stream as events, and an event that says how it ended, by which a client knows an end from a cut. It
// returns that, and how many bytes of body it has sent.
func (s *Server) sendEvents(w http.ResponseWriter, r *http.Request, stream *operations.Stream) (operations.Outcome, int) {
	connectionOf(r.Context()).streams.Store(true)
	control := http.NewResponseController(w)
	// net/http goes on reading, to learn whether the client has left; that isn't limited in time.
	_ = control.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", eventType)
	w.Header().Set("Cache-Control", eventCacheControl)
	events := &eventSink{writer: bufio.NewWriterSize(w, eventBufferBytes), control: control}
	outcome := stream.Run(r.Context(), s.worker.Stopping, events)
	switch outcome.Code {
	case domain.Cancelled:
	case domain.OK:
		events.last("event: end\ndata: {}\n\n")
	default:
		data, err := json.Marshal(map[string]string{"message": outcome.Message})
		if err != nil { // messages are UTF-8
			panic(err)
		}
		events.last(fmt.Sprintf("event: error\ndata: %s\n\n", data))
	}
	return outcome, events.sentBytes
}

// eventSink makes an event of each item.
type eventSink struct {
	writer    *bufio.Writer
	control   *http.ResponseController
	sentBytes int
}

// Send takes an item, which may stay in the buffer.
func (e *eventSink) Send(id int32, item []byte) error {
	n, err := fmt.Fprintf(e.writer, "id: %d\ndata: %s\n\n", id, item)
	e.sentBytes += n
	return err
}

// Flush hands over what the buffer holds.
func (e *eventSink) Flush() error {
	if err := e.writer.Flush(); err != nil {
		return err
	}
	return e.control.Flush()
}

func (e *eventSink) last(event string) {
	n, _ := e.writer.WriteString(event) // a client that has hung up
	e.sentBytes += n
	_ = e.Flush()
}
