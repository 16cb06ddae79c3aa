package socket

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"wirebench.dev/k6/contract"
)

// Reply is what a script gets for a request.
type Reply struct {
	// Status is a gRPC status code, 0 for success.
	Status int `js:"status"`
	// Message is the server's, or says why there is no reply.
	Message string `js:"message"`

	body     []byte
	schema   *contract.Schema // nil if the body is JSON.
	messages string           // The gRPC method that has the messages.
	end      time.Time
	duration time.Duration
}

func (c *Client) reply(method string, came answer) *Reply {
	made := &Reply{
		Status: int(came.Status), Message: came.Message, messages: c.messagesOf[method], body: came.Body, end: came.end,
	}
	if c.settings.protobuf {
		made.schema = c.schema
	}
	return made
}

// JSON returns what the body holds (the operation's `data`) as a JavaScript value, alike for both
// codecs. Bodies are decoded only here: most are never looked at.
func (r *Reply) JSON() (any, error) {
	if r.Status != statusOK {
		return nil, fmt.Errorf("reply.json: status %d carries no body: %s", r.Status, r.Message)
	}
	text := r.body
	if r.schema != nil {
		var err error
		if text, err = r.schema.DecodeData(r.messages, r.body); err != nil {
			return nil, err
		}
	}
	if len(text) == 0 {
		return nil, errors.New("reply.json: the body is empty")
	}
	var value any
	err := json.Unmarshal(text, &value)
	return value, err
}
