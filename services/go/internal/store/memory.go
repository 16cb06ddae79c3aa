package store

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/failure"
	"wirebench.dev/services/internal/pb"
)

// Memory is a store that ends with the process. A user is never changed, only replaced: readers keep what they got.
type Memory struct {
	mu    sync.RWMutex
	users map[int32]*pb.User
	// Sorted, so that a page is found without looking at all users.
	ids      []int32
	balances func() []*pb.Balance
}

// NewMemory returns a store with so many users.
func NewMemory(seedUsers int) *Memory {
	m := &Memory{users: make(map[int32]*pb.User, seedUsers), balances: sync.OnceValue(seedBalances)}
	for i := range seedUsers {
		m.insert(seedUser(i))
	}
	return m
}

// User returns a user.
func (m *Memory) User(_ context.Context, id int32) (*pb.User, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.find(id)
}

// AddUsers adds all users or none.
func (m *Memory) AddUsers(_ context.Context, users ...*pb.User) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var taken []int32
	for _, user := range users {
		if _, ok := m.users[user.GetId()]; ok {
			taken = append(taken, user.GetId())
		}
	}
	if taken != nil {
		return failure.UsersExist(taken...)
	}
	for _, user := range users {
		m.insert(user)
	}
	return nil
}

// UpdateUser replaces the given fields of a user and returns it.
func (m *Memory) UpdateUser(_ context.Context, changes *pb.UpdateUserRequest) (*pb.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	user, err := m.find(changes.GetId())
	if err != nil {
		return nil, err
	}
	changed := proto.CloneOf(user)
	if changes.Name != nil {
		changed.Name = *changes.Name
	}
	if changes.Email != nil {
		changed.Email = *changes.Email
	}
	if changes.Phone != nil {
		changed.Phone = changes.Phone
	}
	if changes.Address != nil {
		changed.Address = changes.Address
	}
	if changes.Bio != nil {
		changed.Bio = changes.Bio
	}
	if len(changes.Tags) > 0 {
		changed.Tags = changes.Tags
	}
	if changes.Avatar != nil {
		changed.Avatar = changes.Avatar
	}
	m.users[changed.GetId()] = changed
	return changed, nil
}

// DeleteUser removes a user and returns it as it was.
func (m *Memory) DeleteUser(_ context.Context, id int32) (*pb.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	user, err := m.find(id)
	if err != nil {
		return nil, err
	}
	place, _ := slices.BinarySearch(m.ids, id)
	m.ids = slices.Delete(m.ids, place, place+1)
	delete(m.users, id)
	return user, nil
}

// Users returns a page of users.
func (m *Memory) Users(_ context.Context, afterID, limit int32) ([]*pb.User, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	first, found := slices.BinarySearch(m.ids, afterID)
	if found {
		first++
	}
	ids := m.ids[first:]
	if limit > 0 && int(limit) < len(ids) {
		ids = ids[:limit]
	}
	users := make([]*pb.User, len(ids))
	for i, id := range ids {
		users[i] = m.users[id]
	}
	return users, nil
}

// Balance returns what an account holds.
func (m *Memory) Balance(_ context.Context, accountID int32) (*pb.Balance, error) {
	if accountID > accounts {
		return nil, failure.AccountNotFound()
	}
	return m.balances()[accountID-1], nil
}

// Transactions returns a page of transactions, computed as a database would read them.
func (m *Memory) Transactions(_ context.Context, since, afterID, limit int32) ([]*pb.Transaction, error) {
	first := max(afterID+1, firstIDSince(since))
	page := make([]*pb.Transaction, 0, limit)
	for id := first; id <= transactions && id < first+limit; id++ {
		page = append(page, seedTransaction(id))
	}
	return page, nil
}

// Check returns nil: memory is always there.
func (m *Memory) Check(context.Context) error { return nil }

// Close does nothing.
func (m *Memory) Close() {}

func (m *Memory) find(id int32) (*pb.User, error) {
	if user, ok := m.users[id]; ok {
		return user, nil
	}
	return nil, failure.UserNotFound()
}

// insert adds a user whose id is free.
func (m *Memory) insert(user *pb.User) {
	m.users[user.GetId()] = user
	place, _ := slices.BinarySearch(m.ids, user.GetId())
	m.ids = slices.Insert(m.ids, place, user.GetId())
}
