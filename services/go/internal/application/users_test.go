package application

import (
	"testing"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/pb"
)

// An update replaces what is given and leaves the rest; what a reader has got doesn't change.
func TestUpdate(t *testing.T) {
	users := New(t.Context(), NewMemory(1)).Users
	before, err := users.GetUser(t.Context(), &pb.GetUserRequest{Id: firstSeedID})
	if err != nil {
		t.Fatal(err)
	}
	changes := &pb.UpdateUserRequest{Id: firstSeedID, Name: proto.String("x"), Tags: []string{"t"}, Avatar: []byte{}}
	after, err := users.UpdateUser(t.Context(), changes)
	expected := &pb.User{
		Id: firstSeedID, Name: "x", Email: "user1000001@example.com", Tags: []string{"t"}, Avatar: []byte{},
	}
	if err != nil || !proto.Equal(expected, after.Data) || before.Data.Name != "User 1000001" {
		t.Errorf("%v, %v, %v", before, after, err)
	}
}

// Of a batch with ids that are taken nothing is added, and the first of them are named in order.
func TestTakenIDs(t *testing.T) {
	users := New(t.Context(), NewMemory(12)).Users
	batch := &pb.CreateUserBatchRequest{Users: []*pb.User{{Id: 1, Name: "a", Email: "b"}}}
	for i := range int32(12) {
		batch.Users = append(batch.Users, &pb.User{Id: firstSeedID + 11 - i, Name: "a", Email: "b"})
	}
	_, err := users.CreateUserBatch(t.Context(), batch)
	expected := "Users with ids 1000001, 1000002, 1000003, 1000004, 1000005, 1000006, 1000007, 1000008, 1000009, 1000010, … " +
		"already exist."
	if actual := status.Convert(err).Message(); actual != expected {
		t.Error(actual)
	}
	if _, err := users.GetUser(t.Context(), &pb.GetUserRequest{Id: 1}); err != errNoUser {
		t.Error(err)
	}
}
