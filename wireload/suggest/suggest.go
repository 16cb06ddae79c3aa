// Package suggest names what could have been meant in place of a wrong name.
package suggest

import "strings"

const namesMax = 20

// Names returns the names that there are, in words.
func Names(names []string) string {
	if len(names) == 0 {
		return "there are none"
	}
	more := ""
	if len(names) > namesMax {
		names, more = names[:namesMax], " …"
	}
	return "there are " + strings.Join(names, ", ") + more
}
