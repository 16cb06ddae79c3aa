package codec

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/modulestest"
	"go.k6.io/k6/lib/fsext"
)

// newRuntime runs JavaScript of the init context, with codec as a name in it.
func newRuntime(t *testing.T) func(string) (sobek.Value, error) {
	t.Helper()
	runtime := modulestest.NewRuntime(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	runtime.VU.InitEnvField.FileSystems = map[string]fsext.Fs{"file": fsext.NewOsFs()}
	runtime.VU.InitEnvField.CWD = &url.URL{Scheme: "file", Path: root}
	instance := New().NewModuleInstance(runtime.VU)
	if err := runtime.VU.RuntimeField.Set("codec", instance.Exports().Default); err != nil {
		t.Fatal(err)
	}
	return runtime.VU.RuntimeField.RunString
}

const load = `const messages = codec.load('../proto/contract.binpb'), get = 'wirebench.v1.UserService/GetUser';`

func TestARequestIsItsMessage(t *testing.T) {
	run := newRuntime(t)
	got, err := run(load + `Array.from(new Uint8Array(messages.encode(get, { id: 7 }))).join()`)
	if err != nil || got.String() != "8,7" {
		t.Errorf("want the message's bytes 8,7, got %v (%v)", got, err)
	}
}

func TestAReplyIsItsData(t *testing.T) {
	run := newRuntime(t)
	// success: true, data: {id: 7, name: "A"}.
	got, err := run(load + `const user = messages.decode(get, new Uint8Array([8, 1, 26, 5, 8, 7, 18, 1, 65]).buffer).data;
		[user.id, user.name].join()`)
	if err != nil || got.String() != "7,A" {
		t.Errorf("want the data's fields, got %v (%v)", got, err)
	}
}

func TestMisuseThrows(t *testing.T) {
	for script, words := range map[string]string{
		`codec.load('nothing.binpb')`:                     "nothing.binpb",
		`codec.load('rest.js')`:                           "rest.js is no set of descriptors",
		load + `messages.encode('users.Fly', {})`:         `no gRPC method "users.Fly"`,
		load + `messages.encode(get, 7)`:                  "a request must be an object",
		load + `messages.encode(get, { name: 'A' })`:      "body does not fit GetUserRequest",
		load + `messages.decode(get, null)`:               "there is no body",
		load + `messages.decode(get, 'text')`:             "a body must be an ArrayBuffer",
		load + `messages.decode(get, new ArrayBuffer(3))`: "proto",
	} {
		if _, err := newRuntime(t)(script); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: want an error with %q, got %v", script, words, err)
		}
	}
}
