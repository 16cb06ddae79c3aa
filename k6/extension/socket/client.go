package socket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/lib"
	"wirebench.dev/k6/contract"
	"wirebench.dev/wireload/frame"
)

const pipelineRequestsMax = 1000

var errInit = common.NewInitContextError("the socket client works in VU code only, not in the init context")

// Client is the object that scripts work with: one connection at most, used by one VU. What goes wrong
// on the wire is a reply with a status (14 no connection, 4 timed out) and counts as a failed request;
// what is wrong with the script throws.
type Client struct {
	instance *instance
	settings clientSettings
	schema   *contract.Schema
	// The gRPC method that has the messages of each of the protocol's methods.
	messagesOf map[string]string
	address    string

	connection *connection
	// The outcome of connecting belongs to the next request, as it does for REST and gRPC: its time, so
	// that "a fresh connection for every request" costs what it costs, and its failure.
	opening      time.Duration
	openingError error
}

// Load reads what the protobuf codec needs: compiled proto files, and by name of a method the gRPC method
// whose messages it takes and gives. It belongs in the init context.
func (c *Client) Load(path string, messagesOf map[string]string) error {
	environment := c.instance.vu.InitEnv()
	if environment == nil {
		return errors.New("client.load must be called in the init context")
	}
	loaded, err := c.instance.module.schemas.Load(environment, path)
	if err != nil {
		return fmt.Errorf("client.%w", err)
	}
	c.schema, c.messagesOf = loaded, messagesOf
	return nil
}

// Connect opens a connection to host:port and reports whether there is one. A failure is not lost: the
// next call reports and counts it.
func (c *Client) Connect(address string) (bool, error) {
	state := c.instance.vu.State()
	if state == nil {
		return false, errInit
	}
	c.Close()
	c.address = address
	c.dial(state, time.Now().Add(c.settings.timeout))
	return c.Connected(), nil
}

// Connected says whether there is a connection, as far as is known without using it.
func (c *Client) Connected() bool { return c.connection != nil }

// Call sends one request and waits for its reply. Without a connection it opens one first, to the
// address that was last connected to.
func (c *Client) Call(method string, body, params sobek.Value) (*Reply, error) {
	replies, err := c.run([]call{{method: method, body: body}}, params)
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

// Pipeline sends requests ({method, body}) without waiting in between, and returns the replies in the
// order of the requests, whatever the order they came in. Each is measured on its own.
func (c *Client) Pipeline(requests []sobek.Value, params sobek.Value) ([]*Reply, error) {
	if len(requests) == 0 {
		return []*Reply{}, nil
	}
	if len(requests) > pipelineRequestsMax {
		return nil, fmt.Errorf("client.pipeline: %d requests are more than %d", len(requests), pipelineRequestsMax)
	}
	calls := make([]call, len(requests))
	for i, request := range requests {
		if common.IsNullish(request) {
			return nil, fmt.Errorf("client.pipeline: request %d is missing", i)
		}
		object := request.ToObject(c.instance.vu.Runtime())
		method := object.Get("method")
		if common.IsNullish(method) {
			return nil, fmt.Errorf("client.pipeline: request %d has no method", i)
		}
		calls[i] = call{method: method.String(), body: object.Get("body")}
	}
	return c.run(calls, params)
}

// Close closes the connection, if there is one.
func (c *Client) Close() {
	if c.connection != nil {
		c.connection.close()
	}
	c.connection = nil
	c.opening, c.openingError = 0, nil
}

// call is one request as a script gives it.
type call struct {
	method string
	body   sobek.Value
}

func (c *Client) run(calls []call, params sobek.Value) ([]*Reply, error) {
	vu := c.instance.vu
	state := vu.State()
	switch {
	case state == nil:
		return nil, errInit
	case c.address == "":
		return nil, errors.New("client.call: call client.connect('host:port') first")
	}
	tags, err := parseTags(vu.Runtime(), params)
	if err != nil {
		return nil, err
	}
	requests, err := c.encode(calls)
	if err != nil {
		return nil, err
	}
	replies := c.send(vu.Context(), state, requests)
	for i, reply := range replies {
		if err := c.instance.emit(requests[i].Method, reply, tags); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

func (c *Client) encode(calls []call) ([]frame.Request, error) {
	requests := make([]frame.Request, len(calls))
	for i, given := range calls {
		body, err := jsonOf(c.instance.vu.Runtime(), given.body)
		if err != nil {
			return nil, err
		}
		if c.settings.protobuf {
			if body, err = c.schema.Encode(c.messagesOf[given.method], body); err != nil {
				return nil, fmt.Errorf("client.call: %w", err)
			}
		}
		requests[i] = frame.Request{Method: given.method, Body: body}
		if err := requests[i].Check(); err != nil {
			return nil, fmt.Errorf("client.call: %w", err)
		}
	}
	return requests, nil
}

// send returns a reply for every request: the server's, or one that says why there is none.
func (c *Client) send(ctx context.Context, state *lib.State, requests []frame.Request) []*Reply {
	replies := make([]*Reply, len(requests))
	deadline := time.Now().Add(c.settings.timeout)
	if c.connection != nil && c.connection.stale() {
		c.Close()
	}
	if c.connection == nil && c.openingError == nil {
		c.dial(state, deadline)
	}
	opening, err := c.opening, c.openingError
	c.opening, c.openingError = 0, nil

	sent := time.Now()
	exhausted := false
	took := func(i int, reply frame.Reply, end time.Time) {
		exhausted = exhausted || reply.Status == statusResourceExhausted
		replies[i] = c.reply(requests[i].Method, reply, end)
	}
	if err == nil {
		used := c.connection.used()
		sent, err = c.connection.exchange(ctx, deadline, requests, took)
		if c.settings.reconnect && used && closedBetweenFrames(err) {
			err = c.again(ctx, state, deadline, requests, took)
		}
	}
	if err != nil || exhausted {
		// After an error it is unknown where the next frame starts; after RESOURCE_EXHAUSTED the server
		// closes by itself.
		c.Close()
	}
	c.complete(replies, sent, opening, err)
	return replies
}

// again sends requests once more on a fresh connection: the server closed the one that was kept before it
// answered any of them, as one that stops does. HTTP and gRPC clients do the same by themselves. Its time
// counts from the first sending.
func (c *Client) again(
	ctx context.Context, state *lib.State, deadline time.Time, requests []frame.Request,
	took func(int, frame.Reply, time.Time),
) error {
	c.Close()
	c.dial(state, deadline)
	err := c.openingError
	c.opening, c.openingError = 0, nil
	if err == nil {
		_, err = c.connection.exchange(ctx, deadline, requests, took)
	}
	return err
}

// complete fills in what the replies have in common: the time they took, and the error in place of
// those that never came.
func (c *Client) complete(replies []*Reply, sent time.Time, opening time.Duration, err error) {
	now := time.Now()
	for i := range replies {
		if replies[i] == nil {
			status, message := failure(err, c.settings.timeout)
			replies[i] = &Reply{Status: int(status), Message: message, end: now}
		}
		replies[i].duration = opening + replies[i].end.Sub(sent)
	}
}

func (c *Client) dial(state *lib.State, deadline time.Time) {
	preface := frame.PrefaceJSON
	if c.settings.protobuf {
		preface = frame.PrefaceProtobuf
	}
	ctx, cancel := context.WithDeadline(c.instance.vu.Context(), deadline)
	defer cancel()
	start := time.Now()
	c.connection, c.openingError = open(ctx, c.settings.dialer(state), c.address, preface)
	c.opening = time.Since(start)
}
