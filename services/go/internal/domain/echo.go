package domain

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// Echo returns the payload. Errors: InvalidArgument.
func Echo(payload []byte) ([]byte, error) {
	if len(payload) == 0 {
		return nil, invalid("Missing required fields: payload.")
	}
	return payload, nil
}

// Upper returns the text in upper case. Errors: InvalidArgument.
func Upper(text string) (string, error) {
	if text == "" {
		return "", invalid("Missing required fields: text.")
	}
	return ToUpper(text), nil
}

// ToUpper maps by all rules of Unicode, by which ß becomes SS; the standard library's keeps one character one.
func ToUpper(text string) string {
	if isASCII(text) {
		return strings.ToUpper(text)
	}
	return cases.Upper(language.Und).String(text)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
