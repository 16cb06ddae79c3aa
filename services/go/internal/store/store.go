// Package store keeps the application's data: in memory or in PostgreSQL.
package store

import (
	"context"

	"wirebench.dev/services/internal/pb"
)

// Store is where data are kept; safe for concurrent use. Messages that it returns must not be changed. Its errors are
// those of package failure.
type Store interface {
	// User returns a user.
	User(ctx context.Context, id int32) (*pb.User, error)
	// AddUsers adds all users or none.
	AddUsers(ctx context.Context, users ...*pb.User) error
	// UpdateUser replaces the given fields of a user and returns it.
	UpdateUser(ctx context.Context, changes *pb.UpdateUserRequest) (*pb.User, error)
	// DeleteUser removes a user and returns it as it was.
	DeleteUser(ctx context.Context, id int32) (*pb.User, error)
	// Users returns at most limit users (0: all) with greater ids, in the order of their ids.
	Users(ctx context.Context, afterID, limit int32) ([]*pb.User, error)
	// Balance returns what an account holds.
	Balance(ctx context.Context, accountID int32) (*pb.Balance, error)
	// Transactions returns at most limit transactions of a Unix second or later with greater ids, in their order.
	Transactions(ctx context.Context, since, afterID, limit int32) ([]*pb.Transaction, error)
	// Check returns why the store can't be used now, or nil.
	Check(ctx context.Context) error
	Close()
}
