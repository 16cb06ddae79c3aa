package request

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestCompileRejectsBadTemplates(t *testing.T) {
	user := func(message string) string {
		return fmt.Sprintf(`"grpc": {"call": "wirebench.v1.UserService/CreateUser", "message": {"user": %s}}`, message)
	}
	rest := func(body string) string { return `"rest": {"request": "POST /x", "body": ` + body + `}` }
	for _, each := range []struct{ inputs, request, want string }{
		{``, rest(`{"x": ["{a}"]}`), `operations.op.rest.body.x[0]: there is no input "a" before it`},
		{`"a": {"value": [1]}`, `"rest": {"request": "GET /{a}"}`, "operations.op.rest.request: {a}: a list or a mapping can't stand in a text"},
		{`"a": {"value": null}`, `"rest": {"request": "GET /{a}"}`, "{a}: null can't stand in a text"},
		{`"a": {"list": ["x", []]}`, `"rest": {"request": "GET /{a}"}`, "{a}: a list or a mapping can't stand in a text"},
		{`"a": {"range": [1, 2]}, "b": {"text": "{a}"}`, rest(`1`), "inputs.b.text: a size must be a number that is the same for all requests"},
		{`"a": {"bytes": 1e99}`, rest(`1`), "inputs.a.bytes: a size must be a whole number"},
		{`"a": {"bytes": 999999999}`, rest(`1`), "expands to more than 64 MiB"},
		{`"a": {"repeat": 1000000, "of": {"range": [1, 2]}}`, rest(`1`), "expands to more than 64 MiB"},
		{`"a": {"repeat": 2, "counting": "b", "of": {"value": 1}}`, rest(`1`), `inputs.a.counting: there is no input "b" before it`},
		{`"b": {"value": "x"}, "a": {"repeat": 2, "counting": "b", "of": {"value": 1}}`, rest(`1`), "inputs.a.counting: needs a number that differs"},
		{``, `"socket": {"method": "x"}`, `operations.op: has no request on transport "grpc"`},
		{``, user(`{"nick": "x"}`), "operations.op.grpc.message.user.nick: wirebench.v1.User has no field nick; there are id, name,"},
		{`"a": {"range": [1, 2]}`, user(`{"id": "{a}", "nick": "x"}`), "operations.op.grpc.message.user.nick: wirebench.v1.User has no field nick"},
		{`"a": {"range": [1, 2]}`, user(`{"name": "{a}"}`), "user.name: does not fit User: invalid value for string"},
		{`"a": {"range": [1, 2147483648]}`, user(`{"id": "{a}"}`), "user.id: does not fit User: invalid value for int32 field id: 2147483648"},
		{`"a": {"list": [1, "x"]}`, user(`{"id": "{a}"}`), "user.id: does not fit User"},
		{`"a": {"random_text": 8}`, user(`{"avatar": "{a}"}`), "user.avatar: a value that varies like this does not fit bytes"},
		{`"a": {"random_text": 8}`, user(`{"tags": "{a}"}`), "user.tags: must be a list"},
		{`"a": {"random_text": 8}`, user(`"{a}"`), "user: a value that varies like this does not fit message"},
	} {
		text := fmt.Sprintf(`{"operations": {"op": {"inputs": {%s}, %s}}}`, each.inputs, each.request)
		transport := map[bool]string{true: "rest", false: "grpc"}[each.request[1] == 'r']
		_, err := loadApplication(t, []byte(text)).Compile(Options{Transport: transport, Work: sequence("op")})
		expectError(t, text, err, each.want)
	}
}

func TestCompileRejectsBadOptions(t *testing.T) {
	phases := Work{Phases: []string{"users.create", "users.get"}}
	for _, each := range []struct {
		options Options
		want    string
	}{
		{Options{Transport: "rest"}, "work: needs one of sequence, phases and mix"},
		{Options{Transport: "rest", Work: sequence("users.have")}, `operations: there is no "users.have"; did you mean users.get?`},
		{Options{Transport: "http", Work: sequence("users.get")}, `operations.users.get: has no request on transport "http"`},
		{Options{Transport: "rest", Codec: "xml", Work: sequence("users.get")}, "codec must be json or protobuf"},
		{Options{Transport: "rest", Payload: "huge", Work: sequence("users.create")}, `payload: no operation of the load has a value for "huge"`},
		{Options{Transport: "rest", Work: sequence("users.get", "users.delete")}, "users.delete: needs an operation that creates"},
		{Options{Transport: "rest", Work: Work{Mix: map[string]int{"users.get": 0}}}, "mix: users.get: its weight must be from 1 to 10000"},
		{Options{Transport: "rest", Work: phases, Calls: 3, Wait: func() {}}, "phases need calls: a multiple of 2"},
		{Options{Transport: "grpc", Work: sequence("users.create"), IDBase: 1 << 31}, "user.id: does not fit User: invalid value for int32 field id: 2147483648"},
	} {
		_, err := builtin(t).Compile(each.options)
		expectError(t, fmt.Sprintf("%+v", each.options), err, each.want)
	}
}

func TestAVariantHasItsOwnRequestsAndHeaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	text := `operations:
  a: {rest: {request: GET /a, headers: {x-key: own, X-B: b}}, variants: {second: {request: GET /second}}}
variants:
  first: {transport: rest, headers: {X-Key: k, X-A: a}}
  second: {transport: rest}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for variant, want := range map[string]string{
		"": "/a [x-key: own X-B: b Accept: */*]", "first": "/a [X-A: a x-key: own X-B: b Accept: */*]", "second": "/second [Accept: */*]",
	} {
		application, err := Load(path, variant, nil)
		if err != nil {
			t.Fatal(err)
		}
		var r Request
		compile(t, application, Options{Transport: "rest", Work: sequence("a")}).NewSource(0).Next(&r)
		var headers []string
		for _, each := range r.Headers {
			headers = append(headers, fmt.Sprintf("%s: %s", each.Name, each.Value))
		}
		if got := fmt.Sprintf("%s %v", r.Path, headers); got != want {
			t.Errorf("%q: got %s, want %s", variant, got, want)
		}
	}
	_, err := Load(path, "frist", nil)
	expectError(t, "a variant", err, `there is no variant "frist"; did you mean first?`)
}
