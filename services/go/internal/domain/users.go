package domain

import (
	"math"
	"strings"
	"unicode/utf8"
)

const (
	batchUsersMax        = 10_000
	listUsersMax         = 1_000_000
	nameCharactersMax    = 200
	emailCharactersMax   = 254
	phoneCharactersMax   = 64
	addressCharactersMax = 500
	bioCharactersMax     = 10_000
	tagsMax              = 50
	tagCharactersMax     = 64
	avatarBytesMax       = 65_536
)

// User is a user as it is stored; nil stands for a field that was never given, which an empty one is not.
type User struct {
	ID      int32    `json:"id"`
	Name    string   `json:"name"`
	Email   string   `json:"email"`
	Phone   *string  `json:"phone,omitzero"`
	Address *string  `json:"address,omitzero"`
	Bio     *string  `json:"bio,omitzero"`
	Tags    []string `json:"tags,omitempty"`
	Avatar  []byte   `json:"avatar,omitzero"`
}

// Changes are the fields of a user that are to be replaced; nil, and no tags, stand for fields that stay as they are.
type Changes struct {
	Name, Email, Phone, Address, Bio *string
	Tags                             []string
	Avatar                           []byte
}

// Users are the operations on users. Each validates first, so that every transport answers alike; the errors that
// they return are of type *Error.
type Users struct{ store *Store }

// NewUsers returns the operations on the users of a store.
func NewUsers(store *Store) *Users { return &Users{store} }

// Create adds one user, which nothing may change any more. Errors: InvalidArgument, AlreadyExists.
func (u *Users) Create(user *User) (*User, error) {
	if err := validate(user); err != nil {
		return nil, err
	}
	if err := u.store.add(user); err != nil {
		return nil, err
	}
	return user, nil
}

// CreateBatch adds all users or none. Errors: InvalidArgument, AlreadyExists.
func (u *Users) CreateBatch(users []*User) ([]*User, error) {
	if len(users) == 0 {
		return nil, invalid("Missing required fields: users.")
	}
	if len(users) > batchUsersMax {
		return nil, invalid("Field 'users' must hold at most %d users.", batchUsersMax)
	}
	ids := make(map[int32]struct{}, len(users))
	for i, user := range users {
		if err := validate(user); err != nil {
			return nil, invalid("User %d of the batch: %s", i+1, err.Message)
		}
		ids[user.ID] = struct{}{}
	}
	if len(ids) < len(users) {
		return nil, invalid("Field 'users' must not hold the same id twice.")
	}
	if err := u.store.add(users...); err != nil {
		return nil, err
	}
	return users, nil
}

// Get returns one user. Errors: InvalidArgument, NotFound.
func (u *Users) Get(id int32) (*User, error) {
	if err := validateID(id); err != nil {
		return nil, err
	}
	return found(u.store.get(id))
}

// Update changes the fields that are given. Errors: InvalidArgument, NotFound.
func (u *Users) Update(id int32, changes Changes) (*User, error) {
	if err := validateID(id); err != nil {
		return nil, err
	}
	if err := validateChanges(changes); err != nil {
		return nil, err
	}
	return found(u.store.change(id, changes))
}

// Delete removes one user and returns it as it was. Errors: InvalidArgument, NotFound.
func (u *Users) Delete(id int32) (*User, error) {
	if err := validateID(id); err != nil {
		return nil, err
	}
	return found(u.store.remove(id))
}

// List returns at most limit users (0: all) with ids over afterID, in the order of their ids. Errors: InvalidArgument.
func (u *Users) List(limit, afterID int32) ([]*User, error) {
	if err := validateInteger("limit", limit, 0, listUsersMax); err != nil {
		return nil, err
	}
	if err := validateInteger("after_id", afterID, 0, math.MaxInt32); err != nil {
		return nil, err
	}
	return u.store.page(afterID, int(limit)), nil
}

func found(user *User) (*User, error) {
	if user == nil {
		return nil, Errorf(NotFound, "User not found.")
	}
	return user, nil
}

// The validators return *Error and not error: a caller that has none must not mistake a nil of it for one.

func validate(user *User) *Error {
	var missing []string
	if user.ID == 0 {
		missing = append(missing, "id")
	}
	if user.Name == "" {
		missing = append(missing, "name")
	}
	if user.Email == "" {
		missing = append(missing, "email")
	}
	if missing != nil {
		return invalid("Missing required fields: %s.", strings.Join(missing, ", "))
	}
	if err := validateID(user.ID); err != nil {
		return err
	}
	return validateFields(Changes{
		&user.Name, &user.Email, user.Phone, user.Address, user.Bio, user.Tags, user.Avatar,
	})
}

func validateChanges(changes Changes) *Error {
	if err := validateFields(changes); err != nil {
		return err
	}
	if changes.Name == nil && changes.Email == nil && changes.Phone == nil && changes.Address == nil &&
		changes.Bio == nil && len(changes.Tags) == 0 && changes.Avatar == nil {
		return invalid("No fields to update.")
	}
	return nil
}

func validateFields(fields Changes) *Error {
	for _, field := range [...]struct {
		name          string
		text          *string
		charactersMax int
		required      bool
	}{
		{"name", fields.Name, nameCharactersMax, true},
		{"email", fields.Email, emailCharactersMax, true},
		{"phone", fields.Phone, phoneCharactersMax, false},
		{"address", fields.Address, addressCharactersMax, false},
		{"bio", fields.Bio, bioCharactersMax, false},
	} {
		if field.text == nil {
			continue
		}
		if field.required && *field.text == "" {
			return invalid("Field '%s' must not be empty.", field.name)
		}
		if longer(*field.text, field.charactersMax) {
			return invalid("Field '%s' must be at most %d characters.", field.name, field.charactersMax)
		}
		if err := refuseNUL(field.name, *field.text); err != nil {
			return err
		}
	}
	if len(fields.Tags) > tagsMax {
		return invalid("Field 'tags' must hold at most %d tags.", tagsMax)
	}
	for _, tag := range fields.Tags {
		if longer(tag, tagCharactersMax) {
			return invalid("Field 'tags' must hold tags of at most %d characters.", tagCharactersMax)
		}
	}
	if err := refuseNUL("tags", fields.Tags...); err != nil {
		return err
	}
	if len(fields.Avatar) > avatarBytesMax {
		return invalid("Field 'avatar' must be at most %d bytes.", avatarBytesMax)
	}
	return nil
}

// refuseNUL refuses the one character that PostgreSQL's text can't hold: all stores are to be alike.
func refuseNUL(name string, texts ...string) *Error {
	for _, text := range texts {
		if strings.ContainsRune(text, 0) {
			return invalid("Field '%s' must not hold the character U+0000.", name)
		}
	}
	return nil
}

func validateID(id int32) *Error { return validateInteger("id", id, 1, math.MaxInt32) }

func validateInteger(name string, value, least, most int32) *Error {
	if value < least || value > most {
		return invalid("Field '%s' must be between %d and %d.", name, least, most)
	}
	return nil
}

// longer returns whether a text has more characters; as a rule its bytes are few enough to tell.
func longer(text string, characters int) bool {
	return len(text) > characters && utf8.RuneCountInString(text) > characters
}
