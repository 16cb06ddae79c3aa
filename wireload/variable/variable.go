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
)

// hiddenMin is the least length of a value that is hidden: shorter ones are no secrets, and stand in many a text.
const hiddenMin = 4

// Pattern is a variable in a text: ${NAME}. Its submatch is the name.
var Pattern = regexp.MustCompile(`\$\{([A-Z_][A-Z0-9_]*)\}`)

// read are the names of variables that have been read, by their values.
var (
	mutex sync.Mutex
	read  = map[string]string{}
)

// LookUp returns the value of a variable.
func LookUp(name string) (string, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("the environment has no variable %s", name)
	}
	mutex.Lock()
	defer mutex.Unlock()
	if len(value) >= hiddenMin {
		read[value] = name
	}
	return value, nil
}

// Hide replaces values of variables by ${NAME}, also as JSON escapes them, in text from or about a service, which may repeat
// what it was sent. Longer ones come first: they may contain others.
func Hide(text string) string {
	mutex.Lock()
	defer mutex.Unlock()
	var pairs []string
	for _, value := range slices.SortedFunc(maps.Keys(read), func(one, other string) int { return cmp.Compare(len(other), len(one)) }) {
		quoted := strconv.Quote(value)
		pairs = append(pairs, value, "${"+read[value]+"}", quoted[1:len(quoted)-1], "${"+read[value]+"}")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
