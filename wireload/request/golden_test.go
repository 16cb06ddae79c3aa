package request

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

// golden is testdata/golden.json: the requests that the Python model makes of these values
// (tests/support/requests_golden.py).
type golden struct {
	Application json.RawMessage `json:"application"`
	Requests    []goldenRequest `json:"requests"`
}

type goldenRequest struct {
	Application string `json:"application"`
	Operation   string `json:"operation"`
	Payload     string `json:"payload"`
	Stream      struct {
		Items     int `json:"items"`
		RateLimit int `json:"rate_limit_per_s"`
	} `json:"stream"`
	Values ordered[template] `json:"values"`
	Rest   struct {
		Method, Path string
		Body         any
	} `json:"rest"`
	Grpc struct {
		Call    string
		Message []byte
	} `json:"grpc"`
	Socket struct {
		Method  string
		Body    any
		Message []byte
	} `json:"socket"`
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func readGolden(t testing.TB) golden {
	t.Helper()
	var g golden
	if err := json.Unmarshal(readFile(t, "testdata/golden.json"), &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func loadApplication(t testing.TB, text []byte) *Application {
	t.Helper()
	application, err := Load(text, readFile(t, "../../proto/contract.binpb"))
	if err != nil {
		t.Fatal(err)
	}
	return application
}

// builtin is the application that comes with wirebench.
func builtin(t testing.TB) *Application {
	t.Helper()
	return loadApplication(t, readFile(t, "../../k6/application.json"))
}

// TestGolden compares requests with those that the Python model makes of the same values.
func TestGolden(t *testing.T) {
	g := readGolden(t)
	applications := map[string]*Application{"users": builtin(t), "inputs": loadApplication(t, g.Application)}
	for _, each := range g.Requests {
		application := applications[each.Application]
		for _, wire := range []struct{ transport, codec string }{
			{"rest", "json"}, {"rest", "protobuf"}, {"grpc", "protobuf"}, {"socket", "json"}, {"socket", "protobuf"},
		} {
			t.Run(each.Operation+"/"+each.Payload+"/"+wire.transport+"/"+wire.codec, func(t *testing.T) {
				got := fill(t, application, &each, &Options{
					Transport: wire.transport, Codec: wire.codec, Payload: each.Payload, Users: 1,
					StreamItems: each.Stream.Items, StreamRateLimit: each.Stream.RateLimit,
				})
				each.compare(t, application, wire.transport, wire.codec == "json", got)
			})
		}
	}
}

func (g *goldenRequest) compare(t *testing.T, application *Application, transport string, isJSON bool, got Request) {
	t.Helper()
	method, path, body, message := "", "/"+g.Grpc.Call, any(nil), g.Grpc.Message
	switch transport {
	case "rest":
		method, path, body = g.Rest.Method, g.Rest.Path, g.Rest.Body
		if body == nil {
			message = nil
		}
	case "socket":
		path, body, message = g.Socket.Method, g.Socket.Body, g.Socket.Message
	}
	if got.Method != method || !sameTarget(t, string(got.Path), path) {
		t.Errorf("got %s %s, want %s %s", got.Method, got.Path, method, path)
	}
	if !isJSON {
		compareMessages(t, application, g.Grpc.Call, got.Body, message)
		return
	}
	var decoded any
	if len(got.Body) > 0 {
		if err := json.Unmarshal(got.Body, &decoded); err != nil {
			t.Fatalf("%s: %v", got.Body, err)
		}
	}
	if !reflect.DeepEqual(decoded, body) {
		t.Errorf("got  %s\nwant %v", got.Body, body)
	}
}

func compareMessages(t *testing.T, application *Application, call string, got, want []byte) {
	t.Helper()
	var messages [2]*dynamicpb.Message
	for i, encoded := range [][]byte{got, want} {
		messages[i] = dynamicpb.NewMessage(application.schema.Methods[call].Input())
		if err := proto.Unmarshal(encoded, messages[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !proto.Equal(messages[0], messages[1]) {
		t.Errorf("got  %v\nwant %v", messages[0], messages[1])
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the same message has other bytes:\ngot  %x\nwant %x", got, want)
	}
}

// sameTarget compares what paths and queries decode to.
func sameTarget(t *testing.T, got, want string) bool {
	t.Helper()
	var parsed [2]*url.URL
	for i, each := range []string{got, want} {
		var err error
		if parsed[i], err = url.ParseRequestURI("http://host/" + each); err != nil {
			t.Fatal(err)
		}
	}
	return parsed[0].Path == parsed[1].Path && reflect.DeepEqual(parsed[0].Query(), parsed[1].Query())
}

// fill makes a request whose draws are replaced by the golden values.
func fill(t *testing.T, application *Application, g *goldenRequest, options *Options) (r Request) {
	t.Helper()
	found, _ := application.operations.get(g.Operation)
	k := &kind{Client: Client{Sequence: []string{g.Operation}}, order: []int{0}}
	c := &compiler{application: application, kind: k, options: options}
	if err := c.compile(g.Operation); err != nil {
		t.Fatal(err)
	}
	k.operations = []*compiled{&c.compiled}
	for _, each := range g.Values {
		// What is made of other inputs is computed, as in a load.
		in, _ := found.Inputs.get(each.name)
		if in.Of != nil {
			in = *in.Of
		}
		if in.generator != "value" && in.generator != "payload" && in.generator != "repeat" {
			replaceDraws(t, c, c.known[each.name], each.value.value)
		}
	}
	u := &user{
		work:    &Workload{options: *options, idsEach: 1},
		kind:    k,
		values:  make([]slotValue, len(c.draws)),
		created: map[string][]int64{c.deletes: {1}},
	}
	u.Next(&r)
	return r
}

// replaceDraws makes the slots of an expanded value have the golden one.
func replaceDraws(t *testing.T, c *compiler, expanded, value any) {
	t.Helper()
	if items, ok := expanded.([]any); ok {
		for i, each := range value.([]any) {
			replaceDraws(t, c, items[i], each)
		}
	}
	s, ok := expanded.(slot)
	if !ok {
		return
	}
	var given slotValue
	switch s.kind {
	case numberKind:
		whole, err := value.(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		given.number = whole - s.add
	case optionKind:
		given.number = int64(slices.IndexFunc(s.options, func(each any) bool { return holds(value, each) }))
	default:
		given.text = []byte(value.(string))
		given.bytes, _ = base64.StdEncoding.DecodeString(value.(string))
	}
	c.draws[s.place] = func(_ *user, v *slotValue) { *v = given }
}
