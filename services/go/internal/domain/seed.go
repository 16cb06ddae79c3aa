package domain

import "fmt"

const (
	seededUsers = 10_000
	// People who try the API by hand find the small ids free.
	firstSeededID = 1_000_001
)

// SeededUsers returns the users that every store starts with: the same everywhere, computed rather than shipped.
func SeededUsers() []*User {
	users := make([]*User, seededUsers)
	for i := range users {
		id := int32(firstSeededID + i)
		users[i] = &User{ID: id, Name: fmt.Sprintf("User %d", id), Email: fmt.Sprintf("user%d@example.com", id)}
	}
	return users
}
