// Package suggest finds the name that was meant.
package suggest

import (
	"fmt"
	"strings"
)

const (
	suggestedMax = 8
	// lettersMax bounds the time that comparing takes.
	lettersMax = 100
)

// Name returns the name that a wrong one is like, in half of its letters at least, or else the first ones that there are.
func Name(wrong string, names []string) string {
	best, least := "", lettersMax
	for _, name := range names {
		longest := max(len(name), len(wrong))
		if longest > lettersMax {
			continue
		}
		if distance := editDistance(wrong, name); distance < least && distance*2 <= longest {
			best, least = name, distance
		}
	}
	switch {
	case len(names) == 0:
		return "there are none"
	case best != "":
		return fmt.Sprintf("did you mean %s?", best)
	case len(names) > suggestedMax:
		return fmt.Sprintf("there are %s …", strings.Join(names[:suggestedMax], ", "))
	}
	return fmt.Sprintf("there are %s", strings.Join(names, ", "))
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
