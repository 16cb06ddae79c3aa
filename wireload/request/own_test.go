package request

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"wirebench.dev/wireload/variable"
)

func TestATextIsSentAsItIsAndAllElseAsJSON(t *testing.T) {
	const text, jsonType = "text/plain; charset=utf-8", "application/json"
	for _, each := range []struct{ body, want, contentType string }{
		{`"plain"`, "plain", text},
		{`"a {n} \"b\""`, `a 5 "b"`, text},
		{`"{n}"`, "5", jsonType},
		{`"{word}"`, "w", text},
		{`"{one}"`, "1", jsonType},
		{`"{filler}"`, "wirebench ", text},
		{`{"a": "{word}"}`, `{"a":"w"}`, jsonType},
		{`{"a": "{n|text}"}`, `{"a":"5"}`, jsonType},
		{`"{raw|base64url}"`, "-_8=", text},
		{`null`, "", ""},
	} {
		_, r := next(t, "rest", `{"inputs": {"n": {"range": [5, 5]}, "word": {"list": ["w"]}, "one": {"list": [1]}, "filler": {"text": 10}, "raw": {"value": "+/8="}}, "rest": {"request": "POST /", "body": `+each.body+`}}`)
		contentType := ""
		for _, header := range r.Headers {
			if header.Key == "content-type" {
				contentType = string(header.Value)
			}
		}
		if string(r.Body) != each.want || contentType != each.contentType {
			t.Errorf("%s: want %q as %s, got %q as %s", each.body, each.want, each.contentType, r.Body, contentType)
		}
	}
}

func TestContains(t *testing.T) {
	for _, each := range []struct{ expect, reply, wrong string }{
		{`"contains": "<{x}>"`, "a <w> b", ""},
		{`"contains": "{n}"`, "15", ""},
		{`"contains": "{x}"`, "a", `the reply is "a", without "w"`},
		{`"contains": "{x}", "json": {"a": 1}`, `{"a": 1, "b": "w"}`, ""},
		{`"contains": "{x}", "json": {"a": 1}`, `{"a": 2, "b": "w"}`, "a is 2"},
	} {
		source, r := next(t, "rest", `{"inputs": {"x": {"list": ["w"]}, "n": {"range": [5, 5]}},
			"rest": {"request": "GET /", "expect": {`+each.expect+`}}}`)
		expectError(t, each.expect, source.Check(&r, []byte(each.reply)), each.wrong)
	}
}

func TestLines(t *testing.T) {
	source, r := next(t, "socket", `{"inputs": {"n": {"counter": 3}, "x": {"list": ["w"]}}, "socket": {"line": "GET {n} \"{x}\"", "contains": "{n}"}}`)
	if string(r.Body) != `GET 3 "w"` || r.Stream {
		t.Errorf("got %q", r.Body)
	}
	expectError(t, "right", source.Check(&r, []byte("VALUE 3")), "")
	expectError(t, "wrong", source.Check(&r, []byte("NONE")), `op: the reply is "NONE", without "3"`)
	application := loadApplication(t, []byte(`{"operations": {"a": {"socket": {"line": "a"}}, "b": {"socket": {"method": "b"}}}}`))
	_, err := application.Compile(Options{Transport: "socket", Work: sequence("a", "b")})
	expectError(t, "both", err, "lines and frames can't be mixed")
	_, err = application.Compile(Options{Transport: "socket", Codec: "protobuf", Work: sequence("a")})
	expectError(t, "a codec", err, "socket: a line has no codec")
}

func TestACallWhoseClientStreamsIsRejected(t *testing.T) {
	application, err := parse(`{"operations": {"op": {"grpc": {"call": "lib.Library/Upload"}}}}`, library(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = application.Compile(Options{Transport: "grpc", Work: sequence("op")})
	expectError(t, "Upload", err, "grpc.call: lib.Library/Upload takes a stream; only")
}

// inputsOf returns the values of all inputs of a source's last request. The compiler is deterministic: it gives the same slots.
func inputsOf(t *testing.T, application *Application, operation string, source *user) map[string]any {
	t.Helper()
	c := &compiler{application: application, work: source.work}
	c.addInputs(application.root.get("operations").get(operation).get("inputs").each())
	values := map[string]any{}
	for name, value := range c.known {
		values[name] = valueOf(t, value, source.values)
	}
	return values
}

// TestAnOperationHasTheSameInputsOnEveryTransport is what a comparison of replies rests on.
func TestAnOperationHasTheSameInputsOnEveryTransport(t *testing.T) {
	wires := [][2]string{{"rest", "json"}, {"rest", "protobuf"}, {"grpc", "protobuf"}, {"socket", "json"}, {"socket", "protobuf"}}
	for name, application := range map[string]*Application{"users": builtin(t), "inputs": loadFile(t, "testdata/inputs.yaml")} {
		var all []string
		for _, each := range application.operations() {
			if kindOf(each, "created") == "" && each.get("stream").value == nil { // The socket has no streams.
				all = append(all, each.name)
			}
		}
		sets := [][]string{all}
		for _, each := range all {
			sets = append(sets, []string{each})
		}
		drawn := map[string]map[string]any{}
		for _, wire := range wires {
			for _, operations := range sets { // What else is sent changes nothing.
				singles, err := application.CompileEach(Options{
					Transport: wire[0], Codec: wire[1], Seed: 3, IDBase: 10_000_000, StreamItems: 5, Work: sequence(operations...),
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, single := range singles {
					for number := range 3 {
						var r Request
						single.Next(&r)
						single.Settle(true)
						key := fmt.Sprintf("%s: %s %d", name, single.Operation, number)
						values := inputsOf(t, application, single.Operation, single.user)
						if before, ok := drawn[key]; ok && !reflect.DeepEqual(before, values) {
							t.Fatalf("%s: %v on %s has %v, and before %v", key, operations, wire, values, before)
						}
						drawn[key] = values
					}
				}
			}
		}
		ids := map[string]string{}
		for key, values := range drawn {
			for _, name := range []string{"first", "id"} {
				found, isNumber := values[name]
				if isNumber && strings.Contains(key, "create") {
					id := fmt.Sprint(found)
					if ids[id] != "" {
						t.Errorf("%s and %s create %s", key, ids[id], id)
					}
					ids[id] = key
				}
			}
		}
	}
}

func TestADeleteIsSentAfterACreate(t *testing.T) {
	singles, err := builtin(t).CompileEach(Options{Transport: "rest", IDBase: 10_000_000, Work: sequence("users.create", "users.delete")})
	if err != nil || len(singles) != 2 || singles[0].Deletes || !singles[1].Deletes {
		t.Fatalf("got %+v, %v", singles, err)
	}
	sent := send(singles[1], 4)
	// The fourth of ten operations, one of which creates 500 at once.
	expectSent(t, sent, "users.create /api/users", "users.delete /api/users/10001500", "users.create /api/users", "users.delete /api/users/10006500")
	_, err = builtin(t).CompileEach(Options{Transport: "rest", Work: sequence("users.delete")})
	expectError(t, "a delete alone", err, "users.delete: needs an operation that creates")
}

func TestRepliesAreShown(t *testing.T) {
	single := func(transport, operation string) *Single {
		singles, err := loadApplication(t, []byte(`{"operations": {"op": `+operation+`}}`)).CompileEach(
			Options{Transport: transport, Work: sequence("op")})
		if err != nil {
			t.Fatal(err)
		}
		var r Request
		singles[0].Next(&r)
		return &singles[0]
	}
	rest := single("rest", `{"rest": {"request": "GET /"}}`)
	long := strings.Repeat("é", shownBytesMax)
	for reply, want := range map[string]string{
		`{"a": [1, "b"]}`: `{"a": [1, "b"]}`, "plain\n": `"plain\n"`, "\xff": `"\ufffd"`, "": `""`, long: `"` + long[:shownBytesMax] + `"`,
	} {
		if got := string(rest.Show([][]byte{[]byte(reply)}, false)); got != want {
			t.Errorf("%.20q: want %.40q, got %.40q of %d", reply, want, got, len(got))
		}
	}
	t.Setenv("OWN_QUOTED", `"s3cret"`)
	if _, err := variable.LookUp("OWN_QUOTED"); err != nil {
		t.Fatal(err)
	}
	if got := string(rest.Show([][]byte{[]byte(`{"a": "s3cret"}`)}, false)); got != `"{\"a\": ${OWN_QUOTED}}"` {
		t.Errorf("got %s", got)
	}
	user := single("grpc", `{"grpc": {"call": "wirebench.v1.UserService/GetUser"}}`)
	if got := strings.ReplaceAll(string(user.Show([][]byte{[]byte("\x08\x01")}, false)), " ", ""); !strings.HasPrefix(got, `{"success":true,"message":""`) {
		t.Errorf("got %s", got)
	}
	stream := single("grpc", `{"stream": true, "grpc": {"call": "wirebench.v1.LedgerService/StreamTransactions"}}`)
	if got := string(stream.Show([][]byte{nil, nil}, true)); got != "[{},{}]" {
		t.Errorf("got %s", got)
	}
}
