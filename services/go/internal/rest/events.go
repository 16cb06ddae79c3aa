package rest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/failure"
	"wirebench.dev/services/internal/pb"
)

const eventBufferBytes = 16 * 1024

var errLeft = failure.New(codes.Canceled, "The client has left.")

// streamTransactions sends Server-Sent Events (WHATWG HTML, section 9.2). They are JSON, whatever the client accepts; the
// last one says how the stream ended.
func (a api) streamTransactions(w http.ResponseWriter, r *http.Request) error {
	request := &pb.StreamTransactionsRequest{}
	if err := decode(r, request, "since", "rate_limit", "limit"); err != nil {
		return err
	}
	batches, err := a.Ledger.Transactions(r.Context(), request)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request is read; net/http reads on to notice when the client leaves
	events := bufio.NewWriterSize(w, eventBufferBytes)
	for batch, err := range batches {
		if err != nil {
			fmt.Fprintf(events, "event: error\ndata: %s\n\n", errorData(err))
			_ = events.Flush() // to a client that may have left
			return err
		}
		for _, transaction := range batch {
			data, err := codec.EncodeJSON(&pb.StreamTransactionsResponse{Data: transaction})
			if err != nil {
				return err
			}
			fmt.Fprintf(events, "id: %d\ndata: %s\n\n", transaction.GetId(), data)
		}
		if events.Flush() != nil || control.Flush() != nil {
			return errLeft
		}
	}
	_, _ = events.WriteString("event: end\ndata: {}\n\n")
	if events.Flush() != nil {
		return errLeft
	}
	return nil
}

func errorData(err error) []byte {
	data, _ := json.Marshal(map[string]string{"message": status.Convert(err).Message()})
	return data
}
