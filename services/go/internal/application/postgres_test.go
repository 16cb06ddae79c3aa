package application

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"log"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Clients get UNAVAILABLE or INTERNAL; the log has the reason, unless it is a connection that is lost or a client that left.
func TestTranslate(t *testing.T) {
	var logged bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&logged)
	for err, expected := range map[error]struct {
		reply    error
		isLogged bool
	}{
		errors.New("disk full"):        {errUnavailable, true},
		&pgconn.PgError{Code: "42601"}: {errInternal, true},
		&pgconn.PgError{Code: "57P01"}: {errUnavailable, false},
		&pgconn.PgError{Code: "57014"}: {errTimeout, false},
		driver.ErrBadConn:              {errUnavailable, false},
		context.DeadlineExceeded:       {errUnavailable, false},
		context.Canceled:               {errUnavailable, false},
	} {
		logged.Reset()
		if reply := translate(err); reply != expected.reply || expected.isLogged != (logged.Len() > 0) {
			t.Errorf("%v: %v, logged %q", err, reply, logged.String())
		}
	}
}
