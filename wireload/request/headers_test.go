package request

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// compileOne compiles an operation of this text for a transport.
func compileOne(t testing.TB, transport, operation string) (*Workload, error) {
	t.Helper()
	application, err := parse(`{"operations": {"op": `+operation+`}}`, readFile(t, "../../proto/contract.binpb"))
	if err != nil {
		return nil, err
	}
	return application.Compile(Options{Transport: transport, Work: sequence("op")})
}

// next returns the first request of an operation.
func next(t *testing.T, transport, operation string) (Source, Request) {
	t.Helper()
	work, err := compileOne(t, transport, operation)
	if err != nil {
		t.Fatal(err)
	}
	source := work.NewSource(0)
	var r Request
	source.Next(&r)
	return source, r
}

func headersOf(r Request) (all []string) {
	for _, each := range slices.Concat(r.Headers, r.Varying) {
		all = append(all, fmt.Sprintf("%s: %s", each.Name, each.Value))
	}
	return all
}

func TestHeadersHaveInputsAndVariablesOfTheEnvironment(t *testing.T) {
	t.Setenv("TOKEN", "s3cret {id}")
	operation := `{"inputs": {"id": {"range": [7, 7]}, "fixed": {"value": "f"}}, "rest": {"request": "GET /a",
		"headers": {"Authorization": "Bearer ${TOKEN}", "X-Id": "a{id}-${TOKEN}", "X-Fixed": "{fixed}{fixed|upper}", "X-Text": "{{id}}"}},
		"grpc": {"call": "wirebench.v1.UserService/GetUser", "metadata": {"Authorization": "${TOKEN}", "trace-bin": "AAE="}}}`
	_, r := next(t, "rest", operation)
	want := []string{"Authorization: Bearer s3cret {id}", "X-Fixed: fF", "X-Text: {id}", "Accept: */*", "X-Id: a7-s3cret {id}"}
	if got := headersOf(r); !slices.Equal(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
	if !r.HasHeader("authorization") || !r.HasHeader("x-id") || r.HasHeader("x-none") {
		t.Errorf("got %+v", r)
	}
	_, r = next(t, "grpc", operation)
	if got := headersOf(r); !slices.Equal(got, []string{"Authorization: s3cret {id}", "trace-bin: AAE="}) || r.Headers[0].Key != "authorization" {
		t.Errorf("got %q", got)
	}
}

func TestHeadersThatCannotBeSentAreRejected(t *testing.T) {
	t.Setenv("BROKEN", "s3cret\r\nX-Evil: 1")
	t.Setenv("FOREIGN", "s3crét")
	for _, each := range []struct{ transport, name, value, want string }{
		{"rest", "X-A", "${BROKEN}", "X-A: its value has a line break"},
		{"rest", "X-A", "a\u0000b", "X-A: its value has a line break"},
		{"rest", "X:A", "1", `headers.X:A: this can't be a name`},
		{"rest", "", "1", `headers: this can't be a name`},
		{"grpc", ":path", "/", `metadata.:path: this can't be a name`},
		{"grpc", "a", "${FOREIGN}", "its value isn't ASCII"},
	} {
		name, _ := json.Marshal(each.name)
		value, _ := json.Marshal(each.value)
		given := fmt.Sprintf(`{%s: %s}`, name, value)
		_, err := compileOne(t, each.transport, `{"rest": {"request": "GET /", "headers": `+given+`},
			"grpc": {"call": "wirebench.v1.UserService/GetUser", "metadata": `+given+`}}`)
		expectError(t, given, err, each.want)
		if err != nil && strings.Contains(err.Error(), "s3cr") {
			t.Errorf("an error tells a secret: %v", err)
		}
	}
}
