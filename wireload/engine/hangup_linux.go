package engine

import "golang.org/x/sys/unix"

// hangUp is the event of a server that sends nothing more.
const hangUp = unix.POLLRDHUP
