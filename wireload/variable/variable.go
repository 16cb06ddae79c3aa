// Package variable reads environment variables for requests, and hides their values in output: they may be secrets.
// Its state is that of the process, as the environment is.
package variable

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// hiddenMin is the least length of a value that is hidden: shorter ones are no secrets, and stand in many a text.
const hiddenMin = 4

// textBytesMax is how much is shown of a text.
const textBytesMax = 300

// Pattern is a variable in a text: ${NAME}. Its submatch is the name.
var Pattern = regexp.MustCompile(`\$\{([A-Z_][A-Z0-9_]*)\}`)

// read are the names of variables that have been read, by their values; hidden replaces these.
var (
	mutex  sync.Mutex
	read   = map[string]string{}
	hidden = strings.NewReplacer()
)

// LookUp returns the value of a variable.
func LookUp(name string) (string, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("the environment has no variable %s", name)
	}
	mutex.Lock()
	defer mutex.Unlock()
	if _, isRead := read[value]; isRead || len(value) < hiddenMin {
		return value, nil
	}
	read[value] = name
	var pairs []string
	// Longer ones come first: they may contain others.
	for _, value := range slices.SortedFunc(maps.Keys(read), func(one, other string) int { return cmp.Compare(len(other), len(one)) }) {
		quoted := strconv.Quote(value)
		pairs = append(pairs, value, "${"+read[value]+"}", quoted[1:len(quoted)-1], "${"+read[value]+"}")
	}
	hidden = strings.NewReplacer(pairs...)
	return value, nil
}

// Hide replaces values of variables by ${NAME}, also as JSON escapes them, in text from or about a service, which may repeat
// what it was sent.
func Hide(text string) string {
	mutex.Lock()
	replacer := hidden
	mutex.Unlock()
	return replacer.Replace(text)
}

// Clean returns a text from or about a service as it may be shown and counted: without values of variables, without
// characters that a terminal acts on, and not too long.
func Clean(text string) string {
	text = strings.Map(func(each rune) rune {
		switch {
		case unicode.IsSpace(each):
			return ' '
		case unicode.IsPrint(each):
			return each
		}
		return unicode.ReplacementChar
	}, Hide(text))
	if len(text) > textBytesMax {
		text = strings.ToValidUTF8(text[:textBytesMax], "") + "…"
	}
	return text
}
