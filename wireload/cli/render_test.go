package cli

import (
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	each := func(count int) map[string]any { return map[string]any{"addresses": []string{}, "requests_each": count} }
	items := `{"create": {"writes": true, "inputs": {"id": {"fresh": "items"}, "word": {"list": ["<é> \"&"]}},
		"rest": {"request": "POST /items?w={word}", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Id": "{id}"}, "body": {"id": "{id}", "name": "{word}"}}}}`
	get := `{"get": {"inputs": {"id": {"counter": 7}}, "rest": {"request": "GET /{id}", "headers": {"accept": "text/plain"}},
		"grpc": {"call": "wirebench.v1.UserService/GetUser", "metadata": {"x-a": "{id}", "x-b-bin": "AAE="}, "message": {"id": "{id}"}}}}`
	text := `{"say": {"rest": {"request": "PUT /", "body": "plain"}}}`
	for _, tried := range []struct{ path, want string }{
		{job(t, "", "rest", items, each(2)), `{"operation":"create","writes":true,"method":"POST","path":"/items?w=%3C%C3%A9%3E%20%22%26","headers":{"Accept":"*/*","Authorization":"Bearer s3cret","Content-Type":"application/json","X-Id":"0"},"body":"{\"id\":0,\"name\":\"<é> \\\"&\"}"}
{"operation":"create","writes":true,"method":"POST","path":"/items?w=%3C%C3%A9%3E%20%22%26","headers":{"Accept":"*/*","Authorization":"Bearer s3cret","Content-Type":"application/json","X-Id":"1"},"body":"{\"id\":1,\"name\":\"<é> \\\"&\"}"}
`},
		{job(t, "", "rest", get, each(1)), `{"operation":"get","method":"GET","path":"/7","headers":{"accept":"text/plain"}}` + "\n"},
		{job(t, "", "grpc", get, each(2)), `{"operation":"get","call":"wirebench.v1.UserService/GetUser","metadata":{"x-a":"7","x-b-bin":"AAE="},"message":{"id":7}}
{"operation":"get","call":"wirebench.v1.UserService/GetUser","metadata":{"x-a":"8","x-b-bin":"AAE="},"message":{"id":8}}
`},
		{job(t, "", "rest", text, each(1)), `{"operation":"say","method":"PUT","path":"/","headers":{"Accept":"*/*","Content-Type":"text/plain; charset=utf-8"},"body":"plain"}` + "\n"},
	} {
		exit, out, log := run(t, "render", tried.path)
		if exit != 0 || out != tried.want {
			t.Errorf("exit %d, %s\ngot  %s\nwant %s", exit, log, out, tried.want)
		}
	}
}

func TestWhatCannotBeRenderedIsOneLine(t *testing.T) {
	large := map[string]any{"requests_each": 100_000}
	for want, path := range map[string]string{
		"a load deletes only what it has created":                 job(t, "", "rest", `{"drop": {"inputs": {"id": {"created": "items"}}, "rest": {"request": "DELETE /{id}"}}}`, nil),
		"transport must be rest or grpc":                          job(t, "", "socket", `{"ping": {"socket": {"line": "PING"}}}`, nil),
		"render takes a sequence of one operation":                job(t, "", "rest", `{"a": {"rest": {"request": "GET /"}}, "b": {"rest": {"request": "GET /"}}}`, nil),
		"100000 requests take more than 64 MiB: render fewer, or": job(t, "", "rest", `{"a": {"inputs": {"t": {"random_text": 3000}}, "rest": {"request": "POST /", "body": "{t}"}}}`, large),
		"create has a body in protobuf on REST: only wireload":    job(t, "", "rest", `{"create": {"rest": {"request": "POST /", "body": "x"}, "grpc": {"call": "wirebench.v1.UserService/GetUser", "message": {"id": 1}}}}`, map[string]any{"requests": map[string]any{"transport": "rest", "codec": "protobuf", "work": map[string]any{"sequence": []string{"create"}}}}),
		"a: A: its value has a line break":                        job(t, "", "rest", `{"a": {"inputs": {"t": {"list": ["a\nb", "\n"]}}, "rest": {"request": "GET /", "headers": {"A": "{t}"}}}}`, nil),
		"has no field nome; there are id":                         job(t, "", "grpc", `{"a": {"grpc": {"call": "wirebench.v1.UserService/GetUser", "message": {"nome": 1}}}}`, nil),
	} {
		exit, out, log := run(t, "render", path)
		if exit == 0 || out != "" || !strings.Contains(log, want) || strings.Count(log, "\n") != 1 {
			t.Errorf("want %q, got exit %d, %.100s%s", want, exit, out, log)
		}
	}
}
