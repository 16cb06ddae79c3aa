package request

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shopFile is an application file without mistakes; the lines of the mistakes below are its own.
const shopFile = `application: shop
seeded:
  things: {first: 10, count: 5}
operations:
  get:
    inputs:
      id: {seeded: things}
      full: {value: null}
    rest: {request: "GET /things/{id}?full={full}", expect: {json: {id: "{id}"}}}
    grpc: {call: wirebench.v1.UserService/GetUser, message: {id: "{id}"}, expect: {data.id: "{id}"}}
    socket: {method: get, body: {id: "{id}"}}
    variants: {rest-b: {request: "GET /b/{id}"}}
    same: {rest: id, grpc: data.id}
  watch:
    stream: true
    rest: {request: GET /watch, end: done}
variants:
  rest-a: {transport: rest, start: "serve {port}", headers: {X-Key: "${KEY}"}}
  rest-b: {transport: rest, address: "127.0.0.1:1"}
  grpc: {transport: grpc, address: "127.0.0.1:2", schema: set.binpb}
`

// check returns the mistakes of a text, a line each.
func check(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"a.yaml": text, "set.binpb": string(readFile(t, "../../proto/contract.binpb")), "broken.proto": "syntax = \"proto3\";\nmessage A { B b = 1; }\n",
		"noise.binpb": "no",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, mistakes, err := Check(filepath.Join(folder, "a.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, each := range mistakes {
		lines = append(lines, strings.ReplaceAll(each.String(), folder, "."))
	}
	return strings.Join(lines, "\n")
}

func TestAFileWithoutMistakes(t *testing.T) {
	if found := check(t, shopFile); found != "" {
		t.Error(found)
	}
	for _, path := range []string{"../../applications/users.yaml", "../../applications/examples/podinfo.yaml", "testdata/inputs.yaml"} {
		_, mistakes, err := Check(path, map[string][]byte{"": readFile(t, "../../proto/contract.binpb")})
		if err != nil || len(mistakes) > 0 {
			t.Errorf("%s: %v %v", path, mistakes, err)
		}
	}
}

// TestMistakes has each rule once: a change of the file above, and the lines that say what is wrong.
func TestMistakes(t *testing.T) {
	const id = "{seeded: things}"
	const grpcCall = "{call: wirebench.v1.UserService/GetUser, "
	for _, each := range []struct{ old, changed, want string }{
		{"application: shop", "application: Shop", `1: application: must be a name of lower-case letters, digits, - and _ (it is "Shop")`},
		{"application: shop", "aplication: shop", "1: aplication: no such key; did you mean application?"},
		{"application: shop", "- shop\n", "3: not valid YAML: did not find expected '-' indicator"},
		{"application: shop", "application: shop\napplication: shop", "2: application appears twice"},
		{"application: shop", "1: shop", `1: a key must be a word: quote "1"`},
		{"application: shop", "application: !!int shop", "1: not valid YAML: cannot construct !!str `shop` as a !!int"},
		{"first: 10", "first: .inf", "3: .inf is not a finite number"},
		{"first: 10", "first: 1.5", "3: seeded.things.first: must be a whole number (it is 1.5)"},
		{"first: 10", "first: null", "3: seeded.things: first is missing"},
		{"first: 10, ", "", "3: seeded.things: first is missing"},
		{"count: 5", "count: 0", "3: seeded.things.count: must be at least 1"},
		{"operations:", "operation:", "1: operations is missing\n4: operation: no such key; did you mean operations?"},
		{"  watch:", "  Watch:", "14: operations.Watch: the name must match ^[a-z][a-z0-9_-]*(\\.[a-z][a-z0-9_-]*)*$"},
		{"  watch:\n    stream: true\n", "  watch: 5\n  b:\n    stream: true\n", "14: operations.watch: must be a mapping of keys to values (it is 5)"},
		{"  get:", "  get:\n    stream: true", "5: operations.get: the socket has no streams\n11: operations.get.grpc.call: wirebench.v1.UserService/GetUser needs stream: false"},
		{"    stream: true", "    stream: 1", "15: operations.watch.stream: must be true or false (it is 1)"},
		{"      id: ", "      Id: {value: 1}\n      id: ", "7: operations.get.inputs.Id: the name must match ^[a-z_][a-zA-Z0-9_]*$"},
		{id, "{seeded: others}", `7: operations.get.inputs.id: nothing is seeded as "others"`},
		{id, "{repeat: 2, of: {seeded: others}}", `7: operations.get.inputs.id.of: nothing is seeded as "others"`},
		{id, "{repeat: 2, of: {fresh: things}}", "7: operations.get.inputs.id.of: fresh and created can't be repeated: make it an input, and name that in counting"},
		{id, "{repeat: 2}", "7: operations.get.inputs.id: repeat needs `of`: what is repeated"},
		{id, "{range: }", "7: operations.get.inputs.id: needs exactly one of bytes, counter, created"},
		{id, "{range: [2, 1]}", "7: operations.get.inputs.id.range: must be two whole numbers, the lower first"},
		{id, "{range: [1]}", "7: operations.get.inputs.id.range: must be two whole numbers, the lower first"},
		{id, "{range: [1, x]}", "7: operations.get.inputs.id.range: must be two whole numbers, the lower first"},
		{id, `{payload: {"a/b": 1}}`, "7: operations.get.inputs.id.payload.a/b: the name must match ^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$"},
		{id, "{payload: {}}", "7: operations.get.inputs.id.payload: needs at least one choice"},
		{id, "{seedet: things}", "7: operations.get.inputs.id: needs exactly one of bytes, counter, created, fresh, list, payload, random_text, range, repeat, seeded, stream, text, value\n7: operations.get.inputs.id.seedet: no such key; did you mean seeded?"},
		{id, "{range: [1, 2], list: [3]}", "7: operations.get.inputs.id: needs exactly one of bytes, counter"},
		{id, "{list: [3, null]}", "7: operations.get.inputs.id.list: must be a list of values, none of them null"},
		{id, "{list: 3}", "7: operations.get.inputs.id.list: must be a list of values, none of them null"},
		{id, "{stream: size}", `7: operations.get.inputs.id.stream: must be one of items, rate_limit_per_s (it is "size")`},
		{id, "{text: many}", "7: operations.get.inputs.id.text: a size must be a whole number, not many"},
		{id, "{text: true}", "7: operations.get.inputs.id.text: a size must be a whole number, not true"},
		{id, `{text: "{size}"}`, `7: operations.get.inputs.id.text: there is no input "size" before it`},
		{id, "{counter: one}", `7: operations.get.inputs.id.counter: must be a whole number (it is "one")`},
		{id, "{value: &a [*a]}", "7: not valid YAML: anchor 'a' value contains itself"},
		{id, "{value: \"${KEY}\"}", "7: operations.get.inputs.id.value: ${KEY}: only headers and metadata take variables"},
		{"/things/{id}", "/things/{ident}", `9: operations.get.rest.request: {ident}: there is no input "ident" before it`},
		{"/things/{id}", "/things/{id|sideways}", `9: operations.get.rest.request: {id|sideways}: there is no form "sideways"; there are base64url, text, upper`},
		{"/things/{id}", "/things/{id}?key=${KEY}", "9: operations.get.rest.request: ${KEY}: only headers and metadata take variables"},
		{`"GET /things`, `"FETCH /things`, "9: operations.get.rest.request: must be a method (GET, POST, PUT, PATCH or DELETE) and a path in ASCII without spaces, with braces around inputs alone (it is"},
		{"/things/{id}", "/things/{id", "9: operations.get.rest.request: must be a method (GET, POST, PUT, PATCH or DELETE) and a path in ASCII"},
		{"schema: set.binpb", "schemas: set.binpb", "20: variants.grpc.schemas: no such key; did you mean schema?"},
		{`request: "GET /things`, `requests: "GET /things`, "9: operations.get.rest: request is missing\n9: operations.get.rest.requests: no such key; did you mean request?"},
		{"expect: {json:", "expect: {status: 99, json:", "9: operations.get.rest.expect.status: must be an HTTP status, from 100 to 599"},
		{`{id: "{id}"}}}`, `{id: {equals: 1}}}}`, `9: operations.get.rest.expect.json.id: there is no test "equals"; there are empty, count, above, matches`},
		{"expect: {json:", "expect: {contains: 5, json:", "9: operations.get.rest.expect.contains: must be text (it is 5)"},
		{"expect: {json:", `headers: {"X A": b, Host: b, Connection: c, X-B: "a\nb"}, expect: {json:`, "9: operations.get.rest.headers.Connection: wireload sends it by itself\n9: operations.get.rest.headers.X A: this can't be a name\n9: operations.get.rest.headers.X-B: its value has a line break or another control character"},
		{"expect: {json:", `headers: {X-A: "{none}"}, expect: {json:`, `9: operations.get.rest.headers.X-A: {none}: there is no input "none" before it`},
		{grpcCall, "{call: UserService.GetUser, ", `10: operations.get.grpc.call: must be package.Service/Method (it is "UserService.GetUser")`},
		{grpcCall, "{call: wirebench.v1.UserService/GetUsers, ", "10: operations.get.grpc.call: the descriptors have no method wirebench.v1.UserService/GetUsers; did you mean wirebench.v1.UserService/GetUser?"},
		{grpcCall, "{call: wirebench.v1.LedgerService/StreamTransactions, ", "10: operations.get.grpc.call: wirebench.v1.LedgerService/StreamTransactions needs stream: true\n10: operations.get.grpc.message.id: wirebench.v1.StreamTransactionsRequest has no field id; there are since, rate_limit, limit"},
		{`message: {id: "{id}"}`, "message: {id: many}", `10: operations.get.grpc.message.id: does not fit GetUserRequest: invalid value for int32 field id: "many"`},
		{`message: {id: "{id}"}`, "message: [1]", "10: operations.get.grpc.message: does not fit GetUserRequest: syntax error (line 1:1): unexpected token ["},
		{"{data.id:", "{data.ids:", "10: operations.get.grpc.expect.data.ids: wirebench.v1.User has no field ids; did you mean id?"},
		{"{data.id:", "{data.id.x:", "10: operations.get.grpc.expect.data.id.x: x is inside a value that has no fields"},
		{grpcCall, `{metadata: {a: é, b-bin: "a!", "c!": d, grpc-timeout: 1S}, call: wirebench.v1.UserService/GetUser, `, "10: operations.get.grpc.metadata.a: its value isn't ASCII; a name that ends in -bin takes any bytes, in base64\n10: operations.get.grpc.metadata.b-bin: its value isn't base64\n10: operations.get.grpc.metadata.c!: this can't be a name\n10: operations.get.grpc.metadata.grpc-timeout: wireload sends it by itself"},
		{"{method: get, ", "{method: größer, ", `11: operations.get.socket.method: must be 1 to 255 ASCII characters (it is "größer")`},
		{"{method: get, ", "{", "11: operations.get.socket: needs either method or line"},
		{`{method: get, body: {id: "{id}"}}`, `{line: "a\nb"}`, "11: operations.get.socket.line: must be one line"},
		{`{rest-b: {request: "GET /b/{id}"}}`, `{rest-b: {request: "GET /b/{none}"}}`, `12: operations.get.variants.rest-b.request: {none}: there is no input "none" before it`},
		{`{rest-b: {request: "GET /b/{id}"}}`, "{rest-b: {call: a.B/C}}", "12: operations.get.variants.rest-b: needs a rest request, which the variant has"},
		{`{rest-b: {request`, "{rest-c: {request", `12: operations.get.variants.rest-c: there is no variant "rest-c"; did you mean rest-a?`},
		{"same: {rest: id", "same: {socket: id, web: id", "13: operations.get.same: there is no web request"},
		{"grpc: data.id}", "grpc: data.ids}", "13: operations.get.same.grpc: wirebench.v1.User has no field ids; did you mean id?"},
		{"end: done", "end: a b", "16: operations.watch.rest.end: must be the name of an event, without spaces"},
		{"  rest-a: {transport: rest", "  rest-A: {transport: rest", "18: variants.rest-A: the name must match ^[a-z][a-z0-9]*(-[a-z0-9]+)*$"},
		{"{transport: rest, start", "{transport: http, start", `18: variants.rest-a.transport: must be one of rest, grpc, socket (it is "http")`},
		{"{transport: rest, start", "{start", "18: variants.rest-a: transport is missing"},
		{"{X-Key:", "{Content-Length:", "18: variants.rest-a.headers.Content-Length: wireload sends it by itself"},
		{`"${KEY}"`, `"Bearer ${key} {id}"`, "18: variants.rest-a.headers.X-Key: {key}: there is no input \"key\" before it; there are full, id; {{key}} is text\n18: variants.rest-a.headers.X-Key: {key}: there is no input \"key\" before it; there are none; {{key}} is text"},
		{`"${KEY}"`, `"Bearer {id}"`, "18: variants.rest-a.headers.X-Key: {id}: there is no input \"id\" before it"},
		{`start: "serve {port}"`, "start: serve {port}", "18: not valid YAML: did not find expected ',' or '}'; quote texts that have braces"},
		{"schema: set.binpb", "schema: none.proto", "20: variants.grpc.schema: ./none.proto: no such file; name proto files, a compiled set (.binpb), or reflection"},
		{"schema: set.binpb", "schema: noise.binpb", "20: variants.grpc.schema: ./noise.binpb: not a compiled set of descriptors"},
		{"schema: set.binpb", "schema: /dev/zero", "20: variants.grpc.schema: /dev/zero: not a file of at most 64 MiB"},
		{"schema: set.binpb", "schema: broken.proto", "20: variants.grpc.schema: broken.proto:2:13: field A.b: unknown type B"},
	} {
		if !strings.Contains(shopFile, each.old) {
			t.Fatalf("there is no %q", each.old)
		}
		if found := check(t, strings.Replace(shopFile, each.old, each.changed, 1)); !strings.HasPrefix(found, each.want) || each.want == "" {
			t.Errorf("%s:\ngot  %s\nwant %s", each.changed, found, each.want)
		}
	}
}

func TestFilesThatAreTooLarge(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := range 6 {
		name := string(rune('b' + i))
		before := string(rune('a' + i))
		bomb += name + ": &" + name + " [*" + strings.Join(strings.Split(strings.Repeat(before, 9), ""), ", *") + "]\n"
	}
	for text, want := range map[string]string{
		bomb: "not valid YAML: document contains excessive aliasing",
		strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000): "not valid YAML: exceeded max depth",
		"# " + strings.Repeat("x", 1_000_000):                     "1: the file is longer than 1000000 bytes",
		"\xff\xfe":                                                "1: not",
		"":                                                        "1: ",
		"a: 1\n---\nb: 2\n":                                       "not valid YAML",
	} {
		if found := check(t, text); !strings.Contains(found, want) {
			t.Errorf("%.20q: got %s, want %s", text, found, want)
		}
	}
}

// TestValues are those of YAML 1.2, in which numbers keep their form.
func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		"true": "true", "yes": `"yes"`, "Off": `"Off"`, "~": "null", "": "null", "0o17": "15", "0x1F": "31", "1_000": `"1_000"`, "+5": "5", "1:30": `"1:30"`,
		"123456789012345678901234567890": "123456789012345678901234567890", "1.50": "1.50", ".5": "0.5", "1e3": "1e3",
		"2026-01-31": `"2026-01-31"`, "'1'": `"1"`, "!!str 1": `"1"`, "|\n  a\n  b\n": `"a\u000ab\u000a"`, "&a x": `"x"`,
		`{"<<": 1, "b": [true, null, -2.5, "\u00e9"]}`: `{"<<":1,"b":[true,null,-2.5,"é"]}`,
	} {
		d := &document{}
		value, _ := d.parse([]byte("v: " + text)).(object)
		found, _ := value.get("v")
		if got := jsonOf(found); got != want || len(d.mistakes) > 0 {
			t.Errorf("%s: got %s, want %s, %v", text, got, want, d.mistakes)
		}
	}
	for _, text := range []string{"0123", "-010", "00.5", ".inf", "{<<: {a: 1}}"} {
		d := &document{}
		if d.parse([]byte("v: " + text)); len(d.mistakes) != 1 {
			t.Errorf("%s: %v", text, d.mistakes)
		}
	}
}
