package application

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// OpenPostgres opens a store on a server, whose tables `wirebench-store migrate` creates.
func OpenPostgres(ctx context.Context, url string, connections int, timeout time.Duration) (*SQL, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("its URL can't be read") // the error may quote the password
	}
	config.RuntimeParams["application_name"] = "wirebench"
	config.RuntimeParams["statement_timeout"] = strconv.FormatInt(timeout.Milliseconds(), 10)
	open := func() *sql.DB { return stdlib.OpenDB(*config) }
	tags := tagsColumn{
		asJSON: "array_to_json(tags)::text",                                    // until Go 1.27, database/sql has no arrays
		encode: func(tags []string) any { return append([]string{}, tags...) }, // never NULL
	}
	return openSQL(ctx, open, tags, connections, timeout)
}
