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

// checkFiles prints the mistakes of application files, a line each. To resolve a file, it prints it as JSON that needs no
// other file, or else its mistakes to the log.
func checkFiles(command string, arguments []string, out, log io.Writer) error {
	paths, sets, err := readCheck(command, arguments)
	if err != nil {
		return err
	}
	isResolve := command == "resolve"
	if isResolve && len(paths) != 1 {
		return newUsageError("resolve wants one application file")
	}
	found := 0
	for _, path := range paths {
		resolved, mistakes, err := request.Check(path, sets)
		if err != nil {
			return errUsage{err}
		}
		to := out
		if isResolve {
			to = log
		}
		for _, each := range mistakes {
			fmt.Fprintf(to, "%s:%s\n", path, each)
		}
		found += len(mistakes)
		if isResolve && len(mistakes) == 0 {
			fmt.Fprintln(out, resolved)
		}
	}
	if found > 0 {
		return errFound
	}
	return nil
}

// readCheck returns the paths of files, and sets of descriptors by variant.
func readCheck(command string, arguments []string) (paths []string, sets map[string][]byte, err error) {
	sets = map[string][]byte{}
	for rest := arguments; len(rest) > 0; rest = rest[1:] {
		if rest[0] != "--descriptors" {
			paths = append(paths, rest[0])
			continue
		}
		if rest = rest[1:]; len(rest) == 0 {
			return nil, nil, newUsageError("--descriptors wants VARIANT=FILE, or FILE for an application without variants")
		}
		variant, path, isNamed := strings.Cut(rest[0], "=")
		if !isNamed {
			variant, path = "", rest[0]
		}
		set, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, errUsage{err}
		}
		sets[variant] = set
	}
	isOption := func(path string) bool { return strings.HasPrefix(path, "-") }
	if len(paths) == 0 || slices.ContainsFunc(paths, isOption) {
		return nil, nil, newUsageError("%s wants application files, and --descriptors VARIANT=FILE", command)
	}
	return paths, sets, nil
}
