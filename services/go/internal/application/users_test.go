package application

import (
	"testing"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/pb"
	"wirebench.dev/services/internal/settings"
)

// forEachStore runs a test on a store in memory and on one in a SQLite file, each with so many users.
func forEachStore(t *testing.T, seedUsers int, test func(t *testing.T, store Store)) {
	for _, name := range []string{"memory", "sqlite"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			config := &settings.Settings{
				Store: name, SeedUsers: seedUsers, StoreConnections: 2, StoreTimeout: 10 * time.Second,
			}
			store, err := OpenStore(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			test(t, store)
		})
	}
}

// An update replaces what is given and leaves the rest; what a reader has got doesn't change.
func TestUpdate(t *testing.T) { forEachStore(t, 1, testUpdate) }

func testUpdate(t *testing.T, store Store) {
	users := New(t.Context(), store).Users
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
func TestTakenIDs(t *testing.T) { forEachStore(t, 12, testTakenIDs) }

func testTakenIDs(t *testing.T, store Store) {
	users := New(t.Context(), store).Users
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

// Every field comes back as it was added, and what is empty isn't what isn't there.
func TestFields(t *testing.T) {
	forEachStore(t, 0, func(t *testing.T, store Store) {
		users := []*pb.User{
			{Id: 1, Name: "a", Email: "b", Phone: proto.String(""), Bio: proto.String("ä"), Avatar: []byte{}},
			{Id: 2, Name: "c", Email: "d", Address: proto.String("e"), Tags: []string{"f", "\"g\""}, Avatar: []byte{0, 255}},
		}
		if err := store.addUsers(t.Context(), users); err != nil {
			t.Fatal(err)
		}
		for _, expected := range users {
			actual, err := store.user(t.Context(), expected.Id)
			if err != nil || !proto.Equal(expected, actual) {
				t.Errorf("expected %v, not %v, %v", expected, actual, err)
			}
		}
		if all, err := store.users(t.Context(), 0, 0); err != nil || len(all) != 2 {
			t.Errorf("%v, %v", all, err)
		}
	})
}
