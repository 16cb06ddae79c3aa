package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirebench.dev/wireload/transport/transporttest"
)

// job writes a job for the operations of a user application, and returns its path.
func job(t *testing.T, address, transport, operations string, more map[string]any) string {
	t.Helper()
	application := filepath.Join(t.TempDir(), "application.json")
	if err := os.WriteFile(application, []byte(`{"operations": `+operations+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal([]byte(operations), &named); err != nil {
		t.Fatal(err)
	}
	var sequence []string
	for name := range named {
		sequence = append(sequence, name)
	}
	described := map[string]any{
		"addresses": []string{address}, "application": application, "descriptors": "../../proto/contract.binpb",
		"requests": map[string]any{"transport": transport, "seed": 1, "work": map[string]any{"sequence": sequence}},
	}
	for name, value := range more {
		described[name] = value
	}
	return writeJob(t, described)
}

// ask runs `wireload request` and returns its answers.
func askFor(t *testing.T, path string) []answer {
	t.Helper()
	exit, out, log := run(t, "request", path)
	if exit != 0 || log != "" {
		t.Fatalf("exit %d, %s", exit, log)
	}
	var answers []answer
	for line := range strings.Lines(out) {
		var each answer
		if err := json.Unmarshal([]byte(line), &each); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		answers = append(answers, each)
	}
	return answers
}

func expectAnswer(t *testing.T, got answer, status, reply, problem string) {
	t.Helper()
	if got.Status != status || string(got.Reply) != reply || got.Problem != problem {
		t.Errorf("want status %q, reply %s, problem %q; got %q, %s, %q", status, reply, problem, got.Status, got.Reply, got.Problem)
	}
}

// echo answers with what it was sent; its path is the status.
func echo(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.WriteHeader(status)
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %s", body, r.Header.Get("Content-Type"), r.Header.Get("Authorization"), r.Header.Get("X-N"))
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestARestServiceIsAskedWithHeadersAndATextBody(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	path := job(t, echo(t), "rest", `{"echo": {"inputs": {"n": {"counter": 5}}, "rest": {
		"request": "POST /202", "headers": {"Authorization": "Bearer ${TOKEN}", "X-N": "{n}"}, "body": "text {n}",
		"expect": {"status": 202, "contains": "text {n} text/plain; charset=utf-8 Bearer s3cret"}}}}`, map[string]any{"requests_each": 2})
	got := askFor(t, path)
	if len(got) != 2 || got[0].Operation != "echo" || got[0].Sent != "POST /202 text 5" {
		t.Fatalf("got %+v", got)
	}
	// The value of a variable is shown nowhere.
	expectAnswer(t, got[0], "202", `"text 5 text/plain; charset=utf-8 Bearer ${TOKEN} 5"`, "")
	expectAnswer(t, got[1], "202", `"text 6 text/plain; charset=utf-8 Bearer ${TOKEN} 6"`, "")
}

func TestWhatIsWrongWithARestReplyIsAProblem(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	for _, each := range []struct{ rest, status, problem string }{
		{`{"request": "GET /200"}`, "200", ""},
		{`{"request": "GET /404"}`, "404", "not_found: HTTP status 404 in place of 200"},
		{`{"request": "GET /404", "expect": {"status": 404}}`, "404", ""},
		{`{"request": "GET /201"}`, "201", "HTTP status 201 in place of 200"},
		{`{"request": "GET /200", "expect": {"json": {"a": 1}}}`, "200", "op: the reply is not JSON"},
		{
			`{"request": "GET /200", "headers": {"Authorization": "${TOKEN}"}, "expect": {"contains": "none"}}`, "200",
			`op: the reply is "  ${TOKEN} ", without "none"`,
		},
	} {
		got := askFor(t, job(t, echo(t), "rest", `{"op": {"rest": `+each.rest+`}}`, nil))
		if len(got) != 1 || got[0].Status != each.status || !strings.HasPrefix(got[0].Problem, each.problem) || (each.problem == "") != (got[0].Problem == "") {
			t.Errorf("%s: got %+v", each.rest, got)
		}
	}
}

// grpcUsers is a gRPC server of users: it checks what it is sent, and answers with a user of this name, or two to a stream.
func grpcUsers(t *testing.T, name string) string {
	t.Helper()
	return serveHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		status, message := "0", ""
		switch {
		case r.Header.Get("Authorization") != "s3cret" || r.Header.Get("Trace-Bin") != "AAE=":
			status, message = "16", "who is "+r.Header.Get("Authorization")
		case strings.HasSuffix(r.URL.Path, "/GetUser"):
			_, _ = w.Write([]byte("\x00\x00\x00\x00" + string(rune(6+len(name))) + "\x08\x01\x1a" + string(rune(2+len(name))) + "\x12" + string(rune(len(name))) + name))
		default: // two transactions
			_, _ = w.Write([]byte("\x00\x00\x00\x00\x04\x0a\x02\x08\x05\x00\x00\x00\x00\x04\x0a\x02\x08\x06"))
		}
		w.Header().Set("Grpc-Status", status)
		w.Header().Set("Grpc-Message", message)
	})
}

func TestAGRPCServiceIsAskedWithMetadata(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	const metadata = `"metadata": {"Authorization": "${TOKEN}", "trace-bin": "AAE="}`
	operations := `{"get": {"grpc": {"call": "wirebench.v1.UserService/GetUser", ` + metadata + `, "expect": {"data.name": "%s"}}}}`
	address := grpcUsers(t, "x")
	got := askFor(t, job(t, address, "grpc", fmt.Sprintf(operations, "x"), nil))
	if len(got) != 1 || got[0].Status != "ok" || got[0].Problem != "" || !strings.Contains(string(got[0].Reply), `"name":"x"`) {
		t.Errorf("got %+v", got)
	}
	got = askFor(t, job(t, address, "grpc", fmt.Sprintf(operations, "y"), nil))
	if len(got) != 1 || got[0].Problem != `get: data.name is "x", not "y"` {
		t.Errorf("got %+v", got)
	}
	got = askFor(t, job(t, address, "grpc", strings.ReplaceAll(fmt.Sprintf(operations, "x"), "AAE=", ""), nil))
	expectAnswer(t, got[0], "unknown", "null", "unknown: UNAUTHENTICATED: who is ${TOKEN}")
	got = askFor(t, job(t, address, "grpc", `{"watch": {"stream": true, "grpc": {"call": "wirebench.v1.LedgerService/StreamTransactions", `+
		metadata+`, "expect": {"data.id": {"above": 4}}}}}`, nil))
	if len(got) != 1 || got[0].Problem != "" || !strings.HasPrefix(string(got[0].Reply), "[{") || strings.Count(string(got[0].Reply), `"id":`) != 2 {
		t.Errorf("got %s, %+v", got[0].Reply, got)
	}
}

// lines answers each line by this text, and nothing if it is empty.
func lines(t *testing.T, text string) string {
	t.Helper()
	return transporttest.Serve(t, func(connection net.Conn) {
		for asked := bufio.NewScanner(connection); asked.Scan(); {
			_, _ = io.WriteString(connection, strings.ReplaceAll(text, "{}", asked.Text()))
		}
	})
}

func TestALineServiceIsAsked(t *testing.T) {
	const operations = `{"get": {"inputs": {"n": {"counter": 1}}, "socket": {"line": "GET {n}", "contains": "GET {n}"}}}`
	for _, each := range []struct {
		says                   string
		timeoutS               float64
		status, reply, problem string
	}{
		{"<{}>\r\n", 10, "ok", `"<GET 1>"`, ""},
		{"OK\n", 10, "ok", `"OK"`, `get: the reply is "OK", without "GET 1"`},
		{"", 0.2, "", "null", "no reply in time"},
		{"half", 0.2, "", "null", "no reply in time"},
		{"one\ntwo\n", 10, "", "null", "the service sent more than one line"},
	} {
		got := askFor(t, job(t, lines(t, each.says), "socket", operations, map[string]any{"timeout_s": each.timeoutS, "requests_each": 2}))
		want := 2
		if each.problem == "no reply in time" {
			want = 1 // A service that hangs isn't asked again.
		}
		if len(got) != want {
			t.Fatalf("%q: got %+v", each.says, got)
		}
		expectAnswer(t, got[0], each.status, each.reply, each.problem)
	}
}

func TestARequestThatCannotBeMadeIsOneLine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	address := listener.Addr().String()
	const get = `{"op": {"rest": {"request": "GET /200"}}}`
	for _, each := range []struct {
		exit       int
		want, path string
	}{
		{exitFailed, address + " can't be reached: connection refused", job(t, address, "rest", get, nil)},
		{exitUsage, "the environment has no variable WIREBENCH_NONE", job(t, address, "rest",
			`{"op": {"rest": {"request": "GET /", "headers": {"A": "${WIREBENCH_NONE}"}}}}`, nil)},
		{exitUsage, "nome: wirebench.v1.GetUserRequest has no field nome; there are id", job(t, address, "grpc",
			`{"op": {"grpc": {"call": "wirebench.v1.UserService/GetUser", "message": {"nome": 1}}}}`, nil)},
		{exitUsage, "requests_each must be from 1", job(t, address, "rest", get, map[string]any{"requests_each": 0})},
		{exitFailed, "op: A: its value has a line break", job(t, echo(t), "rest",
			`{"op": {"inputs": {"x": {"list": ["a\nb", "\n"]}}, "rest": {"request": "GET /200", "headers": {"A": "{x}"}}}}`, nil)},
		{exitUsage, "wants one job file", ""},
	} {
		arguments := []string{"request"}
		if each.path != "" {
			arguments = append(arguments, each.path)
		}
		exit, _, log := run(t, arguments...)
		if exit != each.exit || !strings.Contains(log, each.want) || strings.Count(log, "\n") != 1 {
			t.Errorf("want %q, got exit %d, %q", each.want, exit, log)
		}
	}
}

func TestALoadByHandSendsHeadersMetadataAndLines(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	seen := make(chan string, 100_000)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- r.Host + " " + r.Header.Get("Authorization")
	}))
	t.Cleanup(server.Close)
	exit, out, log := run(t, "rest", server.URL, "--header", "Host: shop", "--header", "authorization:Bearer ${TOKEN}", "-d", "500ms", "-c", "1")
	if exit != 0 || !strings.Contains(out, "service (ms): ") || strings.Contains(out+log, "s3cret") {
		t.Errorf("exit %d, %s%s", exit, out, log)
	}
	if got := <-seen; got != "shop Bearer s3cret" {
		t.Errorf("got %q", got)
	}
	for want, arguments := range map[string][]string{
		"socket.headers: no such key":     {"socket", "127.0.0.1:1", "a", "--header", "a: b"},
		"must be 'Name: value'":           {"rest", "http://a", "--header", "s3cret"},
		"has no variable WIREBENCH_NONE":  {"rest", "http://a", "--header", "a: ${WIREBENCH_NONE}"},
		"Connection: wireload sends it":   {"rest", "http://a", "--header", "Connection: close"},
		"is not an address like 127.0.0.": {"socket", "127.0.0.1", "b"},
	} {
		exit, _, log := run(t, arguments...)
		if exit != exitUsage || !strings.Contains(log, want) || strings.Contains(log, "s3cret") || strings.Count(log, "\n") != 1 {
			t.Errorf("%v: want %q, got exit %d, %q", arguments, want, exit, log)
		}
	}
}
