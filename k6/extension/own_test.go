package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"wirebench.dev/k6/ledgertest"
)

// ownLoad is a short load of a user application with one operation.
func ownLoad(t *testing.T, script, address, operation string) k6Run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "application.json")
	if err := os.WriteFile(path, []byte(`{"operations": {"own": `+operation+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	descriptors, err := filepath.Abs("../../proto/contract.binpb")
	if err != nil {
		t.Fatal(err)
	}
	return k6Run{script: script, warmup: "0", window: "0.5", variables: map[string]string{
		"ADDRESS": address, "APPLICATION": path, "DESCRIPTORS": descriptors, "CHECK_EVERY": "1",
	}}
}

// expectRight fails unless all replies were found right, or all of them wrong.
func (c cell) expectRight(t *testing.T, what string, right bool) {
	t.Helper()
	want := map[bool]int64{true: 0, false: c.expectOnly(t, "ok")}[right]
	if c.Mismatches != want {
		t.Errorf("%s: want %d wrong replies, got %d", what, want, c.Mismatches)
	}
}

func TestARestServiceOfSomebodysOwnIsLoaded(t *testing.T) {
	t.Setenv("RATE", "s3cret {n}") // It is also the name of a setting of the scripts.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := strings.TrimPrefix(string(body), "text ")
		if n == string(body) || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" || r.Header.Get("Accept") != "a/b" ||
			r.Header.Get("Authorization") != "Bearer s3cret {n}" || r.Header.Get("X-N") != "<"+n+">" || r.Host != "shop" {
			t.Errorf("unexpected request: %v, %s", r, body)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprintf(w, "it was: %s", body)
	}))
	t.Cleanup(server.Close)
	for contains, wrong := range map[string]bool{"was: text {n}": false, "none": true} {
		load := ownLoad(t, "../rest.js", server.Listener.Addr().String(), `{"inputs": {"n": {"counter": 1}}, "rest": {"request": "POST /echo",
			"headers": {"authorization": "Bearer ${RATE}", "X-N": "<{n}>", "ACCEPT": "a/b", "Host": "shop"},
			"body": "text {n}", "expect": {"status": 202, "contains": "`+contains+`"}}}`)
		command, path := load.command(t)
		command.Args = append([]string{command.Args[0], "run", "--include-system-env-vars=false"}, command.Args[2:]...)
		if output, err := command.CombinedOutput(); err != nil || len(output) > 0 {
			t.Fatalf("k6: %v\n%s", err, output)
		}
		got := readCell(t, path)
		got.expectRight(t, contains, !wrong)
	}
}

func TestAMappingHasASizeAndAPathSeveralMatchers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"a": {}, "b": [1, 2], "c": "😀"}`)
	}))
	t.Cleanup(server.Close)
	for expect, wrong := range map[string]bool{
		`{"a": {"empty": true}, "b": {"empty": false, "count": 2}, "c": {"count": 1}}`: false,
		`{"b": {"empty": false, "count": 3}}`:                                          true,
	} {
		ownLoad(t, "../rest.js", server.Listener.Addr().String(), `{"rest": {"request": "GET /", "expect": {"json": `+expect+`}}}`).run(t).expectRight(t, expect, !wrong)
	}
}

func TestARedirectIsAReply(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a" {
			t.Error("k6 follows redirects")
		}
		http.Redirect(w, r, "/b", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	ownLoad(t, "../rest.js", server.Listener.Addr().String(), `{"rest": {"request": "GET /a"}}`).run(t).expectOnly(t, "unknown")
}

func TestAGRPCServiceOfSomebodysOwnIsLoaded(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	service := plain()
	ledgertest.ServeGRPC(t, service.listen(t), func(_ any, stream grpc.ServerStream) error {
		given, _ := metadata.FromIncomingContext(stream.Context())
		got := strings.Join([]string{first(given, "authorization"), first(given, "trace-bin"), first(given, "id")}, " ")
		if got != "s3cret \x00\xff 7" {
			return status.Errorf(codes.Unauthenticated, "got %q", got)
		}
		var request []byte
		if err := stream.RecvMsg(&request); err != nil {
			return err
		}
		item := []byte("\x0a\x02\x08\x05") // a transaction, or a user whose field 1 is something else
		if method, _ := grpc.MethodFromServerStream(stream); strings.HasSuffix(method, "/GetUser") {
			item = []byte("\x1a\x02\x08\x07")
		}
		return stream.SendMsg(&item)
	})
	const with = `"metadata": {"Authorization": "${TOKEN}", "trace-bin": "AP8", "id": "{id}"}`
	for script, operation := range map[string]string{
		"../grpc.js": `{"inputs": {"id": {"range": [7, 7]}}, "grpc": {"call": "wirebench.v1.UserService/GetUser", "message": {"id": "{id}"}, ` +
			with + `, "expect": {"data.id": "{id}"}}}`,
		"../stream.js": `{"stream": true, "inputs": {"id": {"seeded": "items"}}, "grpc": {"call": "wirebench.v1.LedgerService/StreamTransactions", ` +
			with + `, "expect": {"data.id": 5}}}`,
	} {
		load := ownLoad(t, script, service.address, operation)
		load.variables["TRANSPORT"], load.variables["STREAM_ITEMS"] = "grpc", "0"
		load.variables["SEEDED"] = `{"items": {"first": 7, "count": 1}}`
		load.run(t).expectRight(t, script, true)
	}
}

func TestASecretThatAServiceRepeatsIsWrittenNowhere(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	service := plain()
	ledgertest.ServeGRPC(t, service.listen(t), func(_ any, stream grpc.ServerStream) error {
		given, _ := metadata.FromIncomingContext(stream.Context())
		return status.Error(codes.PermissionDenied, "who is "+first(given, "authorization"))
	})
	for script, operation := range map[string]string{
		"../grpc.js":   `{"grpc": {"call": "wirebench.v1.UserService/GetUser", "metadata": {"authorization": "${TOKEN}"}}}`,
		"../stream.js": `{"stream": true, "grpc": {"call": "wirebench.v1.LedgerService/StreamTransactions", "metadata": {"authorization": "${TOKEN}"}}}`,
	} {
		load := ownLoad(t, script, service.address, operation)
		load.variables["TRANSPORT"] = "grpc"
		got := load.run(t)
		if got.expectOnly(t, "unknown"); got.errorText() != "who is ${TOKEN}" {
			t.Errorf("%s: got %s", script, got.errorText())
		}
	}
}

func first(given metadata.MD, key string) string {
	values := given.Get(key)
	if len(values) != 1 {
		return fmt.Sprint(values)
	}
	return values[0]
}

func TestARestStreamOfSomebodysOwnIsRead(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := []string{r.Method, r.Header.Get("Authorization"), r.Host, r.Header.Get("Accept"), r.Header.Get("Content-Type"), string(body)}
		want := map[string][]string{
			"/json": {"POST", "s3cret", "shop", "text/event-stream", "application/json", `{"n":5,"stream":true}`},
			"/text": {"PUT", "s3cret", "shop", "a/b", "text/plain; charset=utf-8", "n is 5"},
			"/none": {"GET", "s3cret", "shop", "text/event-stream", "", ""},
		}[r.URL.Path]
		if !slices.Equal(got, want) {
			t.Errorf("want %q, got %q", want, got)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"a\": 5}\n\n")
		if r.URL.Path == "/text" {
			_, _ = io.WriteString(w, "event: done\ndata: {}\n\n")
		}
	}))
	t.Cleanup(server.Close)
	for _, request := range []string{
		`"request": "POST /json", "body": {"n": "{n}", "stream": true}, "headers": {`,
		`"request": "PUT /text", "body": "n is {n}", "end": "done", "headers": {"ACCEPT": "a/b", `,
		`"request": "GET /none", "headers": {`,
	} {
		load := ownLoad(t, "../stream.js", server.Listener.Addr().String(), `{"stream": true, "inputs": {"n": {"range": [5, 5]}}, "rest": {`+request+
			`"Authorization": "${TOKEN}", "Host": "shop"}, "expect": {"json": {"a": "{n}"}}}}`)
		load.variables["TRANSPORT"] = "rest"
		load.run(t).expectRight(t, request, true)
	}
}

func TestItemsOfAStreamMayBeTexts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: n is 5\n\ndata: [5, DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	for expect, wrong := range map[string]bool{`{}`: false, `{"contains": "{n}"}`: false, `{"contains": "is {n}"}`: true} {
		load := ownLoad(t, "../stream.js", server.Listener.Addr().String(),
			`{"stream": true, "inputs": {"n": {"range": [5, 5]}}, "rest": {"request": "GET /", "expect": `+expect+`}}`)
		load.variables["TRANSPORT"] = "rest"
		load.run(t).expectRight(t, expect, !wrong)
	}
}

func TestWhatK6CannotSendIsOneClearLine(t *testing.T) {
	for want, load := range map[string]k6Run{
		"the environment has no variable WIREBENCH_NONE": ownLoad(t, "../rest.js", "127.0.0.1:1",
			`{"rest": {"request": "GET /", "headers": {"A": "${WIREBENCH_NONE}"}}}`),
		"own expects status 404, which k6 counts as a failure": ownLoad(t, "../rest.js", "127.0.0.1:1",
			`{"rest": {"request": "GET /", "expect": {"status": 404}}}`),
		"own has no request on socket that k6 can send": ownLoad(t, "../socket.js", "127.0.0.1:1", `{"socket": {"line": "PING"}}`),
		"own has no request on grpc that k6 can send":   ownLoad(t, "../grpc.js", "127.0.0.1:1", `{"socket": {"method": "a"}}`),
	} {
		if got := load.fails(t); !strings.Contains(got, want) {
			t.Errorf("want %q in %q", want, got)
		}
	}
}
