package request

import (
	"fmt"
	"strings"
	"testing"
)

const (
	sent  = `"inputs": {"id": {"value": 7}, "user": {"value": {"id": "{id}", "tags": ["a", "b"]}}}`
	user7 = `{"id": 7, "tags": ["a", "b"], "name": "x"}`
)

func TestCheck(t *testing.T) {
	for _, each := range []struct{ expect, reply, wrong string }{
		{`{"data.id": "{id}"}`, `{"data": {"id": 7}}`, ""},
		{`{"data.id": "{id}"}`, `{"data": {"id": "7"}}`, ""}, // 64 bits in the JSON form of protobuf
		{`{"data.id": "{id}"}`, `{"data": {"id": 7.0}}`, ""},
		{`{"data.id": "{id}"}`, `{"data": {"id": 8}}`, "data.id is 8, not 7"},
		{`{"data.id": "{id}"}`, `{"data": {}}`, "data.id is missing, not 7"},
		{`{"id": 9007199254740993}`, `{"id": 9007199254740992}`, "id is"},
		{`{"id": "05"}`, `{"id": "5"}`, "id is"},
		{`{"done": true}`, `{"done": false}`, "done is false, not true"},
		{`{"": "x"}`, `"x"`, ""},
		{`{"": "x"}`, `"y"`, `the reply is "y", not "x"`},
		{`{"a": ["x"]}`, `{"a": ["x", "x"]}`, "a is"},
		{`{"a": {"empty": false}}`, `{"a": "x"}`, ""},
		{`{"a": {"empty": false}}`, `{"a": ""}`, `a is "", not empty false`},
		{`{"a": {"empty": false}}`, `{}`, "a is missing"},
		{`{"a": {"empty": true}}`, `{"a": null}`, ""},
		{`{"a": {"empty": true}}`, `{"a": "x"}`, "a is"},
		{`{"a": {"count": 2}}`, `{"a": [1, 2]}`, ""},
		{`{"a": {"count": 2}}`, `{"a": [1]}`, "a is [1], not count 2"},
		{`{"a.*.id": {"above": "{id}"}}`, `{"a": [{"id": 8}, {"id": "10"}]}`, ""},
		{`{"a.*.id": {"above": "{id}"}}`, `{"a": [{"id": 8}, {"id": 7}]}`, "a.*.id is 7, not above 7"},
		{`{"a.*.id": {"above": "{id}"}}`, `{"a": {}}`, "a.*.id is missing"},
		{`{"a.0.id": "{id}"}`, `{"a": [{"id": 7}]}`, ""},
		{`{"a": {"above": 1}}`, `{"a": "x"}`, "a is"},
		{`{"data": {"matches": "{user}"}}`, `{"data": ` + user7 + `}`, ""},
		{`{"data": {"matches": "{user}"}}`, `{"data": {"id": 7, "tags": ["a"]}}`, "data is"},
		{`{"data": {"matches": "{user}"}}`, `{"data": 7}`, "data is 7"},
		{`{"data": {"matches": ["{user}"]}}`, `{"data": [` + user7 + `]}`, ""},
		{`{"data": {"matches": ["{user}"]}}`, `{"data": []}`, "data is []"},
		{`{"a": 1}`, `{`, "the reply is not JSON"},
		{`{"a": 1}`, `{} {}`, "the reply is not JSON"},
		{`{}`, `garbage that isn't checked`, ""},
	} {
		operation := fmt.Sprintf(`{%s, "socket": {"method": "m", "expect": %s}}`, sent, each.expect)
		application := loadApplication(t, []byte(`{"operations": {"op": `+operation+`}}`))
		source := compile(t, application, Options{Transport: "socket", Work: sequence("op")}).NewSource(0)
		var r Request
		source.Next(&r)
		expectError(t, each.expect+" of "+each.reply, source.Check(&r, []byte(each.reply)), each.wrong)
	}
}

// expectError compares an error with a part of its text; empty stands for none.
func expectError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got error %v, want %q", what, err, want)
	}
}
