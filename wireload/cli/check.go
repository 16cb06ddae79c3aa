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
	paths, sets, err := readCheck("check", arguments)
	if err != nil {
		return err
	}
	found := 0
	for _, path := range paths {
		mistakes, err := request.Check(path, sets)
		if err != nil {
			return errUsage{err}
		}
		found += printMistakes(out, path, mistakes)
	}
	if found > 0 {
		return errFound
	}
	return nil
}

// resolveFile prints an application file as JSON that needs no other file, or else its mistakes to the log.
func resolveFile(arguments []string, out, log io.Writer) error {
	paths, sets, err := readCheck("resolve", arguments)
	if err != nil {
		return err
	}
	if len(paths) != 1 {
		return newUsageError("resolve wants one application file")
	}
	resolved, mistakes, err := request.Resolve(paths[0], sets)
	switch {
	case err != nil:
		return errUsage{err}
	case printMistakes(log, paths[0], mistakes) > 0:
		return errFound
	}
	_, err = fmt.Fprintf(out, "%s\n", resolved)
	return err
}

func printMistakes(to io.Writer, path string, mistakes []request.Mistake) int {
	for _, each := range mistakes {
		fmt.Fprintf(to, "%s:%s\n", path, each)
	}
	return len(mistakes)
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
