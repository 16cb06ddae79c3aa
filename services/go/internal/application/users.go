// Package application is what the services do. It implements the service interfaces that are generated from the proto
// files, and all transports call it.
package application

import (
	"context"
	"math"

	"wirebench.dev/services/internal/failure"
	"wirebench.dev/services/internal/pb"
	"wirebench.dev/services/internal/store"
)

const (
	batchUsersMax = 10_000
	listUsersMax  = 1_000_000
)

// Users keeps users in a store.
type Users struct {
	pb.UnimplementedUserServiceServer
	store store.Store
}

// CreateUser adds a user.
func (u *Users) CreateUser(ctx context.Context, r *pb.CreateUserRequest) (*pb.CreateUserResponse, error) {
	user := r.GetUser()
	if err := validateUser(user); err != nil {
		return nil, err
	}
	if err := u.store.AddUsers(ctx, user); err != nil {
		return nil, err
	}
	return &pb.CreateUserResponse{Success: true, Message: "User created successfully", Data: user}, nil
}

// GetUser returns a user.
func (u *Users) GetUser(ctx context.Context, r *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	if err := validateID(r.GetId()); err != nil {
		return nil, err
	}
	user, err := u.store.User(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	return &pb.GetUserResponse{Success: true, Message: "User retrieved successfully", Data: user}, nil
}

// UpdateUser changes the fields that are given.
func (u *Users) UpdateUser(ctx context.Context, r *pb.UpdateUserRequest) (*pb.UpdateUserResponse, error) {
	if err := validateID(r.GetId()); err != nil {
		return nil, err
	}
	if err := validateUpdate(r); err != nil {
		return nil, err
	}
	user, err := u.store.UpdateUser(ctx, r)
	if err != nil {
		return nil, err
	}
	return &pb.UpdateUserResponse{Success: true, Message: "User updated successfully", Data: user}, nil
}

// DeleteUser removes a user and returns it as it was.
func (u *Users) DeleteUser(ctx context.Context, r *pb.DeleteUserRequest) (*pb.DeleteUserResponse, error) {
	if err := validateID(r.GetId()); err != nil {
		return nil, err
	}
	user, err := u.store.DeleteUser(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	return &pb.DeleteUserResponse{Success: true, Message: "User deleted successfully", Data: user}, nil
}

// ListUsers returns a page of users in the order of their ids.
func (u *Users) ListUsers(ctx context.Context, r *pb.ListUsersRequest) (*pb.ListUsersResponse, error) {
	if err := validateRange("limit", r.GetLimit(), 0, listUsersMax); err != nil {
		return nil, err
	}
	if err := validateRange("after_id", r.GetAfterId(), 0, math.MaxInt32); err != nil {
		return nil, err
	}
	users, err := u.store.Users(ctx, r.GetAfterId(), r.GetLimit())
	if err != nil {
		return nil, err
	}
	return &pb.ListUsersResponse{Success: true, Message: "Users retrieved successfully", Data: users}, nil
}

// CreateUserBatch adds all users or none.
func (u *Users) CreateUserBatch(
	ctx context.Context, r *pb.CreateUserBatchRequest,
) (*pb.CreateUserBatchResponse, error) {
	users := r.GetUsers()
	if len(users) == 0 {
		return nil, failure.Invalid("Missing required fields: users.")
	}
	if len(users) > batchUsersMax {
		return nil, failure.Invalid("Field 'users' must hold at most %d users.", batchUsersMax)
	}
	ids := make(map[int32]struct{}, len(users))
	for i, user := range users {
		if err := validateUser(user); err != nil {
			return nil, failure.InBatch("User", i, err)
		}
		ids[user.GetId()] = struct{}{}
	}
	if len(ids) < len(users) {
		return nil, failure.Invalid("Field 'users' must not hold the same id twice.")
	}
	if err := u.store.AddUsers(ctx, users...); err != nil {
		return nil, err
	}
	return &pb.CreateUserBatchResponse{Success: true, Message: "Users created successfully", Data: users}, nil
}
