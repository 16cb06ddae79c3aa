package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"wirebench.dev/wireload/request"
)

// errFound says that a check has printed mistakes.
var errFound = errors.New("")

// checkFiles prints the mistakes of application files, a line each.
func checkFiles(arguments []string, out io.Writer) error {
	var paths []string
	sets := map[string][]byte{}
	for rest := arguments; len(rest) > 0; rest = rest[1:] {
		if rest[0] != "--descriptors" {
			paths = append(paths, rest[0])
			continue
		}
		if rest = rest[1:]; len(rest) == 0 {
			return newUsageError("--descriptors wants VARIANT=FILE, or FILE for an application without variants")
		}
		variant, path, isNamed := strings.Cut(rest[0], "=")
		if !isNamed {
			variant, path = "", rest[0]
		}
		set, err := os.ReadFile(path)
		if err != nil {
			return errUsage{err}
		}
		sets[variant] = set
	}
	isOption := func(path string) bool { return strings.HasPrefix(path, "-") }
	if len(paths) == 0 || slices.ContainsFunc(paths, isOption) {
		return newUsageError("check wants application files, and --descriptors VARIANT=FILE")
	}
	found := 0
	for _, path := range paths {
		mistakes, err := request.Check(path, sets)
		if err != nil {
			return errUsage{err}
		}
		for _, each := range mistakes {
			found++
			fmt.Fprintf(out, "%s:%s\n", path, each)
		}
	}
	if found > 0 {
		return errFound
	}
	return nil
}
