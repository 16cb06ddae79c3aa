package codec

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/pb"
)

func decode(body string, into proto.Message) string {
	if err := DecodeJSON([]byte(body), into); err != nil {
		return status.Convert(err).Message()
	}
	return ""
}

// Fields are filled by their proto names; null is a field that isn't given, and the last of two equal names counts.
func TestDecodeJSON(t *testing.T) {
	for body, expected := range map[string]*pb.CreateUserRequest{
		``:     {},
		` {} `: {},
		`{"user": {"id": 7, "name": "a\u00e9", "phone": "", "tags": ["x", "y"], "avatar": "AAH/"}}`: {User: &pb.User{
			Id: 7, Name: "aé", Phone: proto.String(""), Tags: []string{"x", "y"}, Avatar: []byte{0, 1, 255},
		}},
		`{"user": {"id": null, "tags": null, "avatar": "", "bio": null}}`: {User: &pb.User{Avatar: []byte{}}},
		`{"user": {"id": 7, "id": 8, "tags": ["x"], "tags": ["y"]}}`:      {User: &pb.User{Id: 8, Tags: []string{"y"}}},
		`{"user": null}`: {},
	} {
		got := &pb.CreateUserRequest{}
		if problem := decode(body, got); problem != "" || !proto.Equal(expected, got) {
			t.Errorf("%s: %v, %s", body, got, problem)
		}
	}
}

// What is wrong is named, the first fault only; what isn't JSON is that before anything else.
func TestDecodeWrongJSON(t *testing.T) {
	for body, expected := range map[string]string{
		`[]`:                                 "The body must be a JSON object.",
		`null`:                               "The body must be a JSON object.",
		`{"user": 7}`:                        "A user must be an object.",
		`{"user": {"id": "7"}}`:              "Field 'id' must be an integer.",
		`{"user": {"id": 7.0}}`:              "Field 'id' must be an integer.",
		`{"user": {"id": 1e3}}`:              "Field 'id' must be an integer.",
		`{"user": {"id": 2147483648}}`:       "Field 'id' must be between 1 and 2147483647.",
		`{"user": {"id": true, "x": 1}}`:     "Field 'id' must be an integer.",
		`{"b": {"c": []}, "a": 1}`:           "Unknown fields: b.",
		`{"user": {"tags": 1, "id": ""}}`:    "Field 'tags' must be a list of strings.",
		`{"user": {"phone": {}}}`:            "Field 'phone' must be a string.",
		`{"user": {"tags": ["x", 1]}}`:       "Field 'tags' must be a list of strings.",
		`{"user": {"avatar": "AAH"}}`:        "Field 'avatar' must be base64 text.",
		`{"user": {"id": "7"}`:               "The body is not valid JSON: ",
		`{"user": {}} {}`:                    "The body is not valid JSON: ",
		`{"user": {"name": "` + "\xff" + `"`: "The body is not valid JSON: ",
		`{"x": NaN}`:                         "The body is not valid JSON: ",
		strings.Repeat("[", 100_000):         "The body is not valid JSON: ",
	} {
		if got := decode(body, &pb.CreateUserRequest{}); !strings.HasPrefix(got, expected) || got == "" {
			t.Errorf("%.40s: %s", body, got)
		}
	}
	for body, expected := range map[string]string{
		`{"users": [{"id": 1}, {"id": "2"}]}`: "Field 'id' must be an integer.",
		`{"users": [7]}`:                      "Field 'users' must be a list of users.",
	} {
		if got := decode(body, &pb.CreateUserBatchRequest{}); got != expected {
			t.Error(got)
		}
	}
	list := &pb.ListUsersRequest{} // too large for the field, which validation rejects by its range
	if got := decode(`{"limit": 2147483648}`, list); got != "" || list.Limit != -1<<31 {
		t.Error(got, list)
	}
}

// What no int32 can hold is a number all the same, and out of every range.
func TestSetInteger(t *testing.T) {
	request := &pb.GetUserRequest{}
	for text, expected := range map[string]int32{"7": 7, "-1": -1, "2147483648": -1 << 31, "-99999999999": -1 << 31} {
		if err := SetInteger(request.ProtoReflect(), "id", text); err != nil || request.Id != expected {
			t.Errorf("%s: %d, %v", text, request.Id, err)
		}
	}
	for _, text := range []string{"", "-", "+1", "1.0", "0x7", " 1", "٣", strings.Repeat("9", 21)} {
		if SetInteger(request.ProtoReflect(), "id", text) == nil {
			t.Errorf("%q: %d", text, request.Id)
		}
	}
}

// Responses are encoded with the proto's names; optional fields that aren't there are left out, and empty ones aren't.
func TestData(t *testing.T) {
	user := &pb.User{Id: 7, Name: "a", Email: "b", Bio: proto.String(""), Avatar: []byte{}}
	for expected, response := range map[string]proto.Message{
		`{"id":7,"name":"a","email":"b","bio":"","avatar":""}`: &pb.GetUserResponse{Data: user},
		`[]`:                 &pb.ListUsersResponse{},
		`{"payload":"AP8="}`: &pb.EchoResponse{Data: &pb.Payload{Payload: []byte{0, 255}}},
		`{"account_id":1,"owner":"x","currency":"EUR","balance_cents":-1,"transactions":2}`: &pb.GetBalanceResponse{
			Data: &pb.Balance{AccountId: 1, Owner: "x", Currency: "EUR", BalanceCents: -1, Transactions: 2},
		},
	} {
		if actual, err := json.Marshal(Data(response)); err != nil || string(actual) != expected {
			t.Errorf("expected %s, not %s, %v", expected, actual, err)
		}
	}
}
