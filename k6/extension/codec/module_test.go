package codec

import (
	"strings"
	"testing"

	"wirebench.dev/k6/vutest"
)

const load = `const messages = codec.load('../proto/contract.binpb'), get = 'wirebench.v1.UserService/GetUser';`

func TestARequestIsItsMessage(t *testing.T) {
	got := vutest.NewInit(t, "codec", New()).Run(load + `Array.from(new Uint8Array(messages.encode(get, { id: 7 }))).join()`)
	if got.String() != "8,7" {
		t.Errorf("want the message's bytes 8,7, got %v", got)
	}
}

func TestAReplyIsItsData(t *testing.T) {
	// success: true, data: {id: 7, name: "A"}.
	got := vutest.NewInit(t, "codec", New()).Run(load + `const user = messages.decode(get, new Uint8Array([8, 1, 26, 5, 8, 7, 18, 1, 65]).buffer).data;
		[user.id, user.name].join()`)
	if got.String() != "7,A" {
		t.Errorf("want the data's fields, got %v", got)
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
		if got := vutest.NewInit(t, "codec", New()).Throws(script); !strings.Contains(got, words) {
			t.Errorf("%s: want an error with %q, got %s", script, words, got)
		}
	}
}
