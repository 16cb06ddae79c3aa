package domain

import (
	"cmp"
	"slices"
	"sync"
)

// Store keeps users in memory: gone when the process ends. Its users never change, they are replaced: what a reader
// has got stays as it was. Safe for use by many goroutines at once.
type Store struct {
	mu    sync.RWMutex
	users map[int32]*User
	// In their order, so that a page is found without looking at all of them.
	ids []int32
}

// NewStore returns a store with these users.
func NewStore(users []*User) *Store {
	store := &Store{users: make(map[int32]*User, len(users)), ids: make([]int32, 0, len(users))}
	store.insert(users)
	return store
}

func (s *Store) get(id int32) *User {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.users[id]
}

// add takes all users or none.
func (s *Store) add(users ...*User) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var taken []int32
	for _, user := range users {
		if _, ok := s.users[user.ID]; ok {
			taken = append(taken, user.ID)
		}
	}
	if taken != nil {
		return usersExist(taken)
	}
	s.insert(users)
	return nil
}

// insert takes users whose ids are free.
func (s *Store) insert(users []*User) {
	for _, user := range users {
		s.users[user.ID] = user
		place, _ := slices.BinarySearch(s.ids, user.ID)
		s.ids = slices.Insert(s.ids, place, user.ID)
	}
}

// change returns the user as it is now, or nil.
func (s *Store) change(id int32, changes Changes) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	user := s.users[id]
	if user == nil {
		return nil
	}
	changed := *user
	replace(&changed.Name, changes.Name)
	replace(&changed.Email, changes.Email)
	changed.Phone = cmp.Or(changes.Phone, user.Phone)
	changed.Address = cmp.Or(changes.Address, user.Address)
	changed.Bio = cmp.Or(changes.Bio, user.Bio)
	if len(changes.Tags) > 0 {
		changed.Tags = changes.Tags
	}
	if changes.Avatar != nil {
		changed.Avatar = changes.Avatar
	}
	s.users[id] = &changed
	return &changed
}

func replace(field *string, change *string) {
	if change != nil {
		*field = *change
	}
}

// remove returns the user as it was, or nil.
func (s *Store) remove(id int32) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	user := s.users[id]
	if place, ok := slices.BinarySearch(s.ids, id); ok {
		s.ids = slices.Delete(s.ids, place, place+1)
	}
	delete(s.users, id)
	return user
}

// page returns at most limit users (0: all) with greater ids, in the order of their ids.
func (s *Store) page(afterID int32, limit int) []*User {
	s.mu.RLock()
	defer s.mu.RUnlock()
	first, found := slices.BinarySearch(s.ids, afterID)
	if found {
		first++
	}
	ids := s.ids[first:]
	if limit > 0 && limit < len(ids) {
		ids = ids[:limit]
	}
	users := make([]*User, len(ids))
	for i, id := range ids {
		users[i] = s.users[id]
	}
	return users
}
