// Package application is what the services do, and the stores that keep its data. It implements the service interfaces
// generated from the proto files; all transports call it. Its errors are gRPC statuses.
package application

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"wirebench.dev/services/internal/pb"
)

const (
	batchUsersMax    = 10_000
	listUsersMax     = 1_000_000
	tagsMax          = 50
	tagCharactersMax = 64
	avatarBytesMax   = 65_536
)

// Users implements UserService.
type Users struct {
	pb.UnimplementedUserServiceServer
	store Store
}

func (u *Users) CreateUser(ctx context.Context, r *pb.CreateUserRequest) (*pb.CreateUserResponse, error) {
	if err := validateUser(r.GetUser()); err != nil {
		return nil, err
	}
	err := u.store.addUsers(ctx, []*pb.User{r.User})
	return &pb.CreateUserResponse{Success: true, Message: "User created successfully", Data: r.User}, err
}

func (u *Users) GetUser(ctx context.Context, r *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	if err := ValidateID(r.GetId()); err != nil {
		return nil, err
	}
	user, err := u.store.user(ctx, r.GetId())
	return &pb.GetUserResponse{Success: true, Message: "User retrieved successfully", Data: user}, err
}

func (u *Users) UpdateUser(ctx context.Context, r *pb.UpdateUserRequest) (*pb.UpdateUserResponse, error) {
	if err := cmp.Or(ValidateID(r.GetId()), validateFields(r)); err != nil {
		return nil, err
	}
	if r.Name == nil && r.Email == nil && r.Phone == nil && r.Address == nil && r.Bio == nil && len(r.Tags) == 0 &&
		r.Avatar == nil {
		return nil, Invalid("No fields to update.")
	}
	user, err := u.store.updateUser(ctx, r)
	return &pb.UpdateUserResponse{Success: true, Message: "User updated successfully", Data: user}, err
}

func (u *Users) DeleteUser(ctx context.Context, r *pb.DeleteUserRequest) (*pb.DeleteUserResponse, error) {
	if err := ValidateID(r.GetId()); err != nil {
		return nil, err
	}
	user, err := u.store.deleteUser(ctx, r.GetId())
	return &pb.DeleteUserResponse{Success: true, Message: "User deleted successfully", Data: user}, err
}

func (u *Users) ListUsers(ctx context.Context, r *pb.ListUsersRequest) (*pb.ListUsersResponse, error) {
	if err := cmp.Or(
		validateRange("limit", r.GetLimit(), 0, listUsersMax),
		validateRange("after_id", r.GetAfterId(), 0, math.MaxInt32),
	); err != nil {
		return nil, err
	}
	users, err := u.store.users(ctx, r.GetAfterId(), r.GetLimit())
	return &pb.ListUsersResponse{Success: true, Message: "Users retrieved successfully", Data: users}, err
}

func (u *Users) CreateUserBatch(
	ctx context.Context, r *pb.CreateUserBatchRequest,
) (*pb.CreateUserBatchResponse, error) {
	if len(r.GetUsers()) == 0 {
		return nil, Invalid("Missing required fields: users.")
	}
	if len(r.Users) > batchUsersMax {
		return nil, Invalid("Field 'users' must hold at most %d users.", batchUsersMax)
	}
	ids := make(map[int32]struct{}, len(r.Users))
	for i, user := range r.Users {
		if err := validateUser(user); err != nil {
			return nil, Invalid("User %d of the batch: %s", i+1, status.Convert(err).Message())
		}
		ids[user.Id] = struct{}{}
	}
	if len(ids) < len(r.Users) {
		return nil, Invalid("Field 'users' must not hold the same id twice.")
	}
	err := u.store.addUsers(ctx, r.Users)
	return &pb.CreateUserBatchResponse{Success: true, Message: "Users created successfully", Data: r.Users}, err
}

func validateUser(user *pb.User) error {
	var missing []string
	for _, field := range []struct {
		name    string
		isEmpty bool
	}{{"id", user.GetId() == 0}, {"name", user.GetName() == ""}, {"email", user.GetEmail() == ""}} {
		if field.isEmpty {
			missing = append(missing, field.name)
		}
	}
	if missing != nil {
		return Invalid("Missing required fields: %s.", strings.Join(missing, ", "))
	}
	return cmp.Or(ValidateID(user.Id), validateFields(&pb.UpdateUserRequest{
		Name: &user.Name, Email: &user.Email, Phone: user.Phone, Address: user.Address, Bio: user.Bio,
		Tags: user.Tags, Avatar: user.Avatar,
	}))
}

// validateFields checks the fields that are set.
func validateFields(r *pb.UpdateUserRequest) error {
	return cmp.Or(
		validateText("name", r.Name, 1, 200), validateText("email", r.Email, 1, 254), validateText("phone", r.Phone, 0, 64),
		validateText("address", r.Address, 0, 500), validateText("bio", r.Bio, 0, 10_000),
		validateTags(r.Tags), unless(len(r.Avatar) <= avatarBytesMax, "Field 'avatar' must be at most %d bytes.", avatarBytesMax),
	)
}

func validateText(name string, text *string, least, most int) error {
	switch {
	case text == nil:
		return nil
	case len(*text) < least:
		return Invalid("Field '%s' must not be empty.", name)
	case utf8.RuneCountInString(*text) > most:
		return Invalid("Field '%s' must be at most %d characters.", name, most)
	}
	return validateNoNUL(name, *text)
}

func validateTags(tags []string) error {
	if len(tags) > tagsMax {
		return Invalid("Field 'tags' must hold at most %d tags.", tagsMax)
	}
	for _, tag := range tags {
		if utf8.RuneCountInString(tag) > tagCharactersMax {
			return Invalid("Field 'tags' must hold tags of at most %d characters.", tagCharactersMax)
		}
	}
	return validateNoNUL("tags", strings.Join(tags, ""))
}

// validateNoNUL rejects the one character that PostgreSQL's text can't hold, so that all stores accept the same users.
func validateNoNUL(name, text string) error {
	return unless(!strings.ContainsRune(text, 0), "Field '%s' must not hold the character U+0000.", name)
}

func ValidateID(id int32) error { return validateRange("id", id, 1, math.MaxInt32) }

func validateRange(name string, value, least, most int32) error {
	return unless(value >= least && value <= most, "Field '%s' must be between %d and %d.", name, least, most)
}

// unless returns an INVALID_ARGUMENT error if the condition is false.
func unless(holds bool, format string, values ...any) error {
	if holds {
		return nil
	}
	return Invalid(format, values...)
}

const (
	// gRPC sends a message percent-encoded in a header, of which clients accept 8 KiB.
	messageCharactersMax = 500
	idsShownMax          = 10
)

// Error returns an error with a message for the client. Messages may quote the client's input, which can be long and not
// even text: invalid UTF-8 is replaced, and what is too long is cut.
func Error(code codes.Code, format string, values ...any) error {
	message := strings.ToValidUTF8(fmt.Sprintf(format, values...), "\uFFFD")
	if utf8.RuneCountInString(message) > messageCharactersMax {
		message = string([]rune(message)[:messageCharactersMax-1]) + "…"
	}
	return status.Error(code, message)
}

func Invalid(format string, values ...any) error {
	return Error(codes.InvalidArgument, format, values...)
}

// usersExist names ids that are taken; only the first ones, since a batch may hold thousands.
func usersExist(ids []int32) error {
	if len(ids) == 1 {
		return Error(codes.AlreadyExists, "User with id %d already exists.", ids[0])
	}
	slices.Sort(ids)
	shown := strings.Trim(strings.ReplaceAll(fmt.Sprint(ids[:min(len(ids), idsShownMax)]), " ", ", "), "[]")
	if len(ids) > idsShownMax {
		shown += ", …"
	}
	return Error(codes.AlreadyExists, "Users with ids %s already exist.", shown)
}
