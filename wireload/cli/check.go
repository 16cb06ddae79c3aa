package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/request"
)

// errFound says that a check has printed mistakes.
var errFound = errors.New("")

// checkFiles prints the mistakes of application files, a line each. To resolve a file, it prints it as JSON, or
// else its mistakes to the log.
func checkFiles(command string, arguments []string, out, log io.Writer) (err error) {
	sets := map[string][]byte{}
	options := flag.NewFlagSet(command, flag.ContinueOnError)
	options.Func("descriptors", "", func(given string) error {
		variant, path, isNamed := strings.Cut(given, "=")
		if !isNamed {
			variant, path = "", given
		}
		sets[variant], err = contract.ReadFile(path)
		return err
	})
	paths, err := parse(options, arguments)
	isResolve := command == "resolve"
	switch {
	case err != nil:
		return err
	case len(paths) == 0 || isResolve && len(paths) != 1:
		return newUsageError("%s wants application files (resolve: one), and --descriptors VARIANT=FILE", command)
	case isResolve:
		out, log = log, out
	}
	for _, path := range paths {
		resolved, mistakes, checkErr := request.Check(path, sets)
		if checkErr != nil {
			return errUsage{checkErr}
		}
		for _, each := range mistakes {
			fmt.Fprintf(out, "%s:%s\n", path, each)
			err = errFound
		}
		if isResolve && len(mistakes) == 0 {
			fmt.Fprintln(log, resolved)
		}
	}
	return err
}
