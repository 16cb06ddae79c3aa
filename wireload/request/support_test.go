package request

import (
	"os"
	"testing"
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// parse loads an application from a text: YAML, or JSON.
func parse(text string, descriptors []byte) (*Application, error) {
	return Parse("a.yaml", []byte(text), "", descriptors)
}

func loadApplication(t testing.TB, text []byte) *Application {
	t.Helper()
	application, err := parse(string(text), readFile(t, "../../proto/contract.binpb"))
	if err != nil {
		t.Fatal(err)
	}
	return application
}

func loadFile(t testing.TB, path string) *Application {
	t.Helper()
	application, err := Load(path, "", readFile(t, "../../proto/contract.binpb"))
	if err != nil {
		t.Fatal(err)
	}
	return application
}

// builtin is the application that comes with wirebench.
func builtin(t testing.TB) *Application {
	t.Helper()
	return loadFile(t, "../../applications/users.yaml")
}

// valueOf returns what an expanded value is in a request with these values.
func valueOf(t testing.TB, expanded any, values []slotValue) any {
	t.Helper()
	var p program
	p.json(expanded)
	value, err := decodeJSON(p.append(nil, values))
	if err != nil {
		t.Fatal(err)
	}
	return value
}
