package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"wirebench.dev/wireload/transport"
)

// slot is the place of a connection that several users share.
type slot struct {
	address string

	mutex  sync.Mutex
	shared transport.Shared
	// dials counts the connections that were opened, or couldn't be; err is why the last one couldn't.
	dials atomic.Int64
	err   error
}

// newSlots returns those of a load whose users share connections: this load generator's part of them, one at least.
func newSlots(load *Load) []*slot {
	if load.Connections == 0 {
		return nil
	}
	slots := make([]*slot, max(1, load.own(load.Connections)))
	for n := range slots {
		slots[n] = &slot{address: load.Addresses[load.userNumber(n)%len(load.Addresses)]}
	}
	return slots
}

// join gives a user a place on the connection, which it opens if there is none. Users that wait for another one to open it
// share the outcome.
func (s *slot) join(u *user, client transport.Multiplexed, deadline time.Time) error {
	dials := s.dials.Load()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.shared != nil && !s.shared.IsSpent():
		client.Join(s.shared)
		return nil
	case s.err != nil && s.dials.Load() > dials:
		return s.err
	}
	connection, _, err := u.dial(deadline)
	s.err = err
	s.dials.Add(1)
	if err == nil {
		s.shared = client.Share(connection)
	}
	return err
}

// close ends all calls on the connection.
func (s *slot) close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.shared != nil {
		_ = s.shared.Close()
	}
}
