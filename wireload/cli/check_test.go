package cli

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckPrintsMistakesOfAllFiles(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.yaml", "operations: {a: {rest: {request: GET /}}}\n")
	bad := write("bad.yaml", "operations:\n  a: {rest: {request: GET /, body: \"{x}\"}}\n  b: {rset: {}}\n")
	call := write("call.yaml", "operations: {a: {grpc: {call: wirebench.v1.UserService/GetUser, message: {idd: 1}}}}\n")
	const contract = "../../proto/contract.binpb"
	for _, each := range []struct {
		arguments, out, log string
		exit                int
	}{
		{good, "", "", 0},
		{good + " " + bad, bad + `:2: operations.a.rest.body: there is no input "x" before it; there are none; {{x}} is text` + "\n" +
			bad + ":3: operations.b.rset: no such key; did you mean rest?\n", "", exitFailed},
		{call, "", "", 0},
		{call + " --descriptors " + contract, call + ":1: operations.a.grpc.message.idd: wirebench.v1.GetUserRequest has no field idd; did you mean id?\n", "", exitFailed},
		{"", "", "check wants application files", exitUsage},
		{"--all", "", "flag provided but not defined: -all", exitUsage},
		{good + " --descriptors", "", "flag needs an argument: -descriptors", exitUsage},
		{good + " --descriptors own=none.binpb", "", "none.binpb: no such file", exitUsage},
		{"none.yaml", "", "none.yaml: no such file", exitUsage},
	} {
		exit, out, log := run(t, append([]string{"check"}, strings.Fields(each.arguments)...)...)
		if exit != each.exit || out != each.out || !strings.Contains(log, each.log) || (log == "") != (each.log == "") {
			t.Errorf("%s: exit %d, %s%s", each.arguments, exit, out, log)
		}
	}
}

func TestSchemaCompilesProtos(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.proto"), []byte("syntax = \"proto3\";\nmessage A { B b = 1; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	job := func(more map[string]any) string {
		described := map[string]any{"protos": []string{"../../proto/wirebench/v1/users.proto"}, "imports": []string{"../../proto"}}
		for name, value := range more {
			described[name] = value
		}
		return writeJob(t, described)
	}
	exit, out, log := run(t, "schema", job(nil))
	if printed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(out)); exit != 0 || err != nil || len(printed) == 0 {
		t.Errorf("exit %d, %v, %s%s", exit, err, out, log)
	}
	for want, path := range map[string]string{
		"a.proto:2:13: field A.b: unknown type B": job(map[string]any{"protos": []string{filepath.Join(folder, "a.proto")}}),
		"needs either protos or reflection":       job(map[string]any{"reflection": "127.0.0.1:1"}),
		"unknown field":                           job(map[string]any{"proto": 1}),
		"127.0.0.1:1: ":                           job(map[string]any{"protos": nil, "reflection": "127.0.0.1:1"}),
		"its value isn't base64":                  job(map[string]any{"protos": nil, "reflection": "127.0.0.1:1", "metadata": map[string]string{"a-bin": "!"}}),
	} {
		exit, out, log := run(t, "schema", path)
		if exit == 0 || out != "" || !strings.Contains(log, want) || strings.Count(log, "\n") != 1 {
			t.Errorf("want %q, got exit %d, %s%s", want, exit, out, log)
		}
	}
}
