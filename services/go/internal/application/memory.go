package application

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wirebench.dev/services/internal/pb"
	"wirebench.dev/services/internal/settings"
)

var (
	errNoUser    = Error(codes.NotFound, "User not found.")
	errNoAccount = Error(codes.NotFound, "Account not found.")
)

// Store keeps data; safe for concurrent use. What it returns must not be changed.
type Store interface {
	user(ctx context.Context, id int32) (*pb.User, error)
	// addUsers adds all users or none.
	addUsers(ctx context.Context, users []*pb.User) error
	// updateUser replaces the fields that are given, and returns the user.
	updateUser(ctx context.Context, changes *pb.UpdateUserRequest) (*pb.User, error)
	// deleteUser returns the user as it was.
	deleteUser(ctx context.Context, id int32) (*pb.User, error)
	// users returns at most limit users (0: all) with greater ids, in the order of their ids.
	users(ctx context.Context, afterID, limit int32) ([]*pb.User, error)
	balance(ctx context.Context, accountID int32) (*pb.Balance, error)
	// transactions returns at most limit transactions in order: those of a Unix second with greater ids, and all later ones.
	transactions(ctx context.Context, since, afterID, limit int32) ([]*pb.Transaction, error)
	// Check returns why the store can't be used, or nil.
	Check(ctx context.Context) error
	Close()
}

func OpenStore(ctx context.Context, config *settings.Settings) (Store, error) {
	if config.Store == "postgres" {
		return openPostgres(ctx, config)
	}
	return NewMemory(config.SeedUsers), nil
}

// Memory is a store that ends with the process. A user is never changed, only replaced: readers keep what they got.
type Memory struct {
	mu       sync.RWMutex
	sorted   []*pb.User // by id
	balances func() []*pb.Balance
}

// NewMemory returns a store with so many users.
func NewMemory(seedUsers int) *Memory {
	m := &Memory{balances: sync.OnceValue(seedBalances)}
	for i := range seedUsers {
		m.sorted = append(m.sorted, seedUser(i))
	}
	return m
}

// search returns where a user is, or would be.
func (m *Memory) search(id int32) (place int, found bool) {
	return slices.BinarySearchFunc(m.sorted, id, func(user *pb.User, id int32) int { return cmp.Compare(user.Id, id) })
}

func (m *Memory) user(_ context.Context, id int32) (*pb.User, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if place, found := m.search(id); found {
		return m.sorted[place], nil
	}
	return nil, errNoUser
}

func (m *Memory) addUsers(_ context.Context, users []*pb.User) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var taken []int32
	for _, user := range users {
		if _, found := m.search(user.Id); found {
			taken = append(taken, user.Id)
		}
	}
	if taken != nil {
		return usersExist(taken)
	}
	for _, user := range users {
		place, _ := m.search(user.Id)
		m.sorted = slices.Insert(m.sorted, place, user)
	}
	return nil
}

func (m *Memory) updateUser(_ context.Context, changes *pb.UpdateUserRequest) (*pb.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	place, found := m.search(changes.Id)
	if !found {
		return nil, errNoUser
	}
	user := proto.CloneOf(m.sorted[place])
	into := user.ProtoReflect()
	changes.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		into.Set(into.Descriptor().Fields().ByName(field.Name()), value) // both messages have the same names
		return true
	})
	m.sorted[place] = user
	return user, nil
}

func (m *Memory) deleteUser(_ context.Context, id int32) (*pb.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	place, found := m.search(id)
	if !found {
		return nil, errNoUser
	}
	user := m.sorted[place]
	m.sorted = slices.Delete(m.sorted, place, place+1)
	return user, nil
}

func (m *Memory) users(_ context.Context, afterID, limit int32) ([]*pb.User, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	first, found := m.search(afterID)
	if found {
		first++
	}
	users := m.sorted[first:]
	if limit > 0 {
		users = users[:min(int(limit), len(users))]
	}
	return slices.Clone(users), nil
}

func (m *Memory) balance(_ context.Context, accountID int32) (*pb.Balance, error) {
	if accountID > accounts {
		return nil, errNoAccount
	}
	return m.balances()[accountID-1], nil
}

// transactions computes them at each call, as a database would read them.
func (m *Memory) transactions(_ context.Context, since, afterID, limit int32) ([]*pb.Transaction, error) {
	first := max(afterID+1, firstIDSince(since))
	page := make([]*pb.Transaction, 0, limit)
	for id := first; id <= transactions && id < first+limit; id++ {
		page = append(page, seedTransaction(id))
	}
	return page, nil
}

func (m *Memory) Check(context.Context) error { return nil }
func (m *Memory) Close()                      {}
