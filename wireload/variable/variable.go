// Package variable reads environment variables for requests, and hides their values in output: they may be secrets.
// Its state is that of the process, as the environment is.
package variable

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// hiddenMin is the least length of a value that is hidden: shorter ones are no secrets, and stand in many a text.
const hiddenMin = 4

// Pattern is a variable in a text: ${NAME}. Its submatch is the name.
var Pattern = regexp.MustCompile(`\$\{([A-Z_][A-Z0-9_]*)\}`)

var (
	mutex sync.RWMutex
	// read are the variables that have been read, by name, and hidden puts their names back.
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
	if before, ok := read[name]; !ok || before != value {
		read[name] = value
		hidden = newReplacer()
	}
	return value, nil
}

// newReplacer replaces longer values first: they may contain others. It also replaces values as JSON escapes them.
func newReplacer() *strings.Replacer {
	byLength := func(one, other string) int { return len(read[other]) - len(read[one]) }
	var pairs []string
	for _, name := range slices.SortedFunc(maps.Keys(read), byLength) {
		if value := read[name]; len(value) >= hiddenMin {
			quoted := strconv.Quote(value)
			pairs = append(pairs, value, "${"+name+"}", quoted[1:len(quoted)-1], "${"+name+"}")
		}
	}
	return strings.NewReplacer(pairs...)
}

// Expand replaces each variable in a text by its value.
func Expand(text string) (string, error) {
	var missing error
	expanded := Pattern.ReplaceAllStringFunc(text, func(found string) string {
		value, err := LookUp(found[2 : len(found)-1])
		missing = errors.Join(missing, err)
		return value
	})
	return expanded, missing
}

// Hide replaces values of variables by ${NAME}, in text from or about a service, which may repeat what it was sent.
func Hide(text string) string {
	mutex.RLock()
	defer mutex.RUnlock()
	return hidden.Replace(text)
}
