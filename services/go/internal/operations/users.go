package operations

import (
	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/pb"
)

func users() []*Operation {
	return []*Operation{
		operation("users.create", "User created successfully",
			func(app *domain.Application, r *pb.CreateUserRequest) (*domain.User, error) {
				return app.Users.Create(userOf(r.GetUser()))
			},
			func(user *domain.User) *pb.CreateUserResponse { return &pb.CreateUserResponse{Data: messageOf(user)} }),
		operation("users.get", "User retrieved successfully",
			func(app *domain.Application, r *pb.GetUserRequest) (*domain.User, error) {
				return app.Users.Get(r.GetId())
			},
			func(user *domain.User) *pb.GetUserResponse { return &pb.GetUserResponse{Data: messageOf(user)} }),
		operation("users.update", "User updated successfully",
			func(app *domain.Application, r *pb.UpdateUserRequest) (*domain.User, error) {
				return app.Users.Update(r.GetId(), domain.Changes{
					Name: r.Name, Email: r.Email, Phone: r.Phone, Address: r.Address, Bio: r.Bio,
					Tags: r.Tags, Avatar: r.Avatar,
				})
			},
			func(user *domain.User) *pb.UpdateUserResponse { return &pb.UpdateUserResponse{Data: messageOf(user)} }),
		operation("users.delete", "User deleted successfully",
			func(app *domain.Application, r *pb.DeleteUserRequest) (*domain.User, error) {
				return app.Users.Delete(r.GetId())
			},
			func(user *domain.User) *pb.DeleteUserResponse { return &pb.DeleteUserResponse{Data: messageOf(user)} }),
		operation("users.list", "Users retrieved successfully",
			func(app *domain.Application, r *pb.ListUsersRequest) ([]*domain.User, error) {
				return app.Users.List(r.GetLimit(), r.GetAfterId())
			},
			func(users []*domain.User) *pb.ListUsersResponse {
				return &pb.ListUsersResponse{Data: messagesOf(users)}
			}),
		operation("users.create_batch", "Users created successfully",
			func(app *domain.Application, r *pb.CreateUserBatchRequest) ([]*domain.User, error) {
				users := make([]*domain.User, len(r.GetUsers()))
				for i, each := range r.GetUsers() {
					users[i] = userOf(each)
				}
				return app.Users.CreateBatch(users)
			},
			func(users []*domain.User) *pb.CreateUserBatchResponse {
				return &pb.CreateUserBatchResponse{Data: messagesOf(users)}
			}),
	}
}

func userOf(m *pb.User) *domain.User {
	if m == nil { // a request without a user is one for a user without fields
		m = &pb.User{}
	}
	return &domain.User{
		ID: m.Id, Name: m.Name, Email: m.Email, Phone: m.Phone, Address: m.Address, Bio: m.Bio,
		Tags: m.Tags, Avatar: m.Avatar,
	}
}

func messageOf(u *domain.User) *pb.User {
	return &pb.User{
		Id: u.ID, Name: u.Name, Email: u.Email, Phone: u.Phone, Address: u.Address, Bio: u.Bio,
		Tags: u.Tags, Avatar: u.Avatar,
	}
}

func messagesOf(users []*domain.User) []*pb.User {
	messages := make([]*pb.User, len(users))
	for i, user := range users {
		messages[i] = messageOf(user)
	}
	return messages
}
