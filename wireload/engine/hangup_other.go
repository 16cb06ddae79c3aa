//go:build !linux

package engine

import "golang.org/x/sys/unix"

// hangUp is the event of a connection that is closed in both directions.
const hangUp = unix.POLLHUP
