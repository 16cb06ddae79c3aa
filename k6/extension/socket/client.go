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
	request, err := c.encode(method, body)
	if err != nil {
		return nil, err
	}
	reply := c.send(vu.Context(), state, request)
	return reply, c.instance.emit(method, reply, tags)
}

// Close closes the connection, if there is one.
func (c *Client) Close() {
	if c.connection != nil {
		c.connection.close()
	}
	c.connection = nil
	c.opening, c.openingError = 0, nil
}

func (c *Client) encode(method string, given sobek.Value) (frame.Request, error) {
	body, err := jsonOf(c.instance.vu.Runtime(), given)
	if err != nil {
		return frame.Request{}, err
	}
	if c.settings.protobuf {
		if body, err = c.schema.Encode(c.messagesOf[method], body); err != nil {
			return frame.Request{}, fmt.Errorf("client.call: %w", err)
		}
	}
	request := frame.Request{Method: method, Body: body}
	if err := request.Check(); err != nil {
		return frame.Request{}, fmt.Errorf("client.call: %w", err)
	}
	return request, nil
}

// send returns the server's reply, or one that says why there is none.
func (c *Client) send(ctx context.Context, state *lib.State, request frame.Request) *Reply {
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
	var came answer
	if err == nil {
		used := c.connection.used()
		came, sent, err = c.connection.exchange(ctx, deadline, request)
		if c.settings.reconnect && used && came.end.IsZero() && closedBetweenFrames(err) {
			came, err = c.again(ctx, state, deadline, request)
		}
	}
	if err != nil || came.Status == statusResourceExhausted {
		// After an error it is unknown where the next frame starts; after RESOURCE_EXHAUSTED the server
		// closes by itself.
		c.Close()
	}
	reply := c.reply(request.Method, came)
	if came.end.IsZero() {
		status, message := failure(err, c.settings.timeout)
		reply = &Reply{Status: int(status), Message: message, end: time.Now()}
	}
	reply.duration = opening + reply.end.Sub(sent)
	return reply
}

// again sends a request once more on a fresh connection: the server closed the one that was kept before it
// answered, as one that stops does. HTTP and gRPC clients do the same by themselves. Its time counts from
// the first sending.
func (c *Client) again(ctx context.Context, state *lib.State, deadline time.Time, request frame.Request) (answer, error) {
	c.Close()
	c.dial(state, deadline)
	err := c.openingError
	c.opening, c.openingError = 0, nil
	if err != nil {
		return answer{}, err
	}
	came, _, err := c.connection.exchange(ctx, deadline, request)
	return came, err
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
