package application

import (
	"math"
	"strings"
	"unicode/utf8"

	"wirebench.dev/services/internal/failure"
	"wirebench.dev/services/internal/pb"
)

const (
	nameCharactersMax    = 200
	emailCharactersMax   = 254
	phoneCharactersMax   = 64
	addressCharactersMax = 500
	bioCharactersMax     = 10_000
	tagsMax              = 50
	tagCharactersMax     = 64
	avatarBytesMax       = 65_536
)

func validateUser(user *pb.User) error {
	var missing []string
	if user.GetId() == 0 {
		missing = append(missing, "id")
	}
	if user.GetName() == "" {
		missing = append(missing, "name")
	}
	if user.GetEmail() == "" {
		missing = append(missing, "email")
	}
	if missing != nil {
		return failure.Invalid("Missing required fields: %s.", strings.Join(missing, ", "))
	}
	if err := validateID(user.Id); err != nil {
		return err
	}
	return validateFields(&pb.UpdateUserRequest{
		Name: &user.Name, Email: &user.Email, Phone: user.Phone, Address: user.Address, Bio: user.Bio,
		Tags: user.Tags, Avatar: user.Avatar,
	})
}

func validateUpdate(r *pb.UpdateUserRequest) error {
	if err := validateFields(r); err != nil {
		return err
	}
	if r.Name == nil && r.Email == nil && r.Phone == nil && r.Address == nil && r.Bio == nil && len(r.Tags) == 0 &&
		r.Avatar == nil {
		return failure.Invalid("No fields to update.")
	}
	return nil
}

func validateFields(fields *pb.UpdateUserRequest) error {
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
			return failure.Invalid("Field '%s' must not be empty.", field.name)
		}
		if utf8.RuneCountInString(*field.text) > field.charactersMax {
			return failure.Invalid("Field '%s' must be at most %d characters.", field.name, field.charactersMax)
		}
		if err := validateNoNUL(field.name, *field.text); err != nil {
			return err
		}
	}
	if len(fields.Tags) > tagsMax {
		return failure.Invalid("Field 'tags' must hold at most %d tags.", tagsMax)
	}
	for _, tag := range fields.Tags {
		if utf8.RuneCountInString(tag) > tagCharactersMax {
			return failure.Invalid("Field 'tags' must hold tags of at most %d characters.", tagCharactersMax)
		}
	}
	if err := validateNoNUL("tags", fields.Tags...); err != nil {
		return err
	}
	if len(fields.Avatar) > avatarBytesMax {
		return failure.Invalid("Field 'avatar' must be at most %d bytes.", avatarBytesMax)
	}
	return nil
}

// validateNoNUL rejects the one character that PostgreSQL's text can't hold, so that all stores accept the same users.
func validateNoNUL(name string, texts ...string) error {
	for _, text := range texts {
		if strings.ContainsRune(text, 0) {
			return failure.Invalid("Field '%s' must not hold the character U+0000.", name)
		}
	}
	return nil
}

func validateID(id int32) error { return validateRange("id", id, 1, math.MaxInt32) }

func validateRange(name string, value, least, most int32) error {
	if value < least || value > most {
		return failure.Invalid("Field '%s' must be between %d and %d.", name, least, most)
	}
	return nil
}
