// Package suggest finds the name that was meant.
package suggest

import (
	"fmt"
	"strings"
)

const (
	suggestedMax = 8
	// closeEnough is how many letters of ten may differ in a name that is suggested.
	closeEnough = 5
	// lettersMax bounds the time that comparing takes.
	lettersMax = 100
)

// Name returns the name that a wrong one is like, or else the first ones that there are.
func Name(wrong string, names []string) string {
	if len(names) == 0 {
		return "there are none"
	}
	best, least := "", 0
	for _, name := range names {
		longest := max(len(name), len(wrong))
		if longest > lettersMax {
			continue
		}
		distance := editDistance(wrong, name)
		if distance*10 <= closeEnough*longest && (best == "" || distance < least) {
			best, least = name, distance
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	more := ""
	if len(names) > suggestedMax {
		names, more = names[:suggestedMax], " …"
	}
	return fmt.Sprintf("there are %s%s", strings.Join(names, ", "), more)
}

// editDistance returns how many letters are to be added, removed or replaced: the distance of Levenshtein.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
