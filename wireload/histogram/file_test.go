//go:build unix

package histogram

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreReplaced(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, pipe} {
		if err := (File{}).Write(path); err == nil || !strings.Contains(err.Error(), path+" is not a regular file") {
			t.Errorf("in place of %s: got %v", path, err)
		}
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("want the pipe as it was, got %v, %v", info, err)
	}
}
