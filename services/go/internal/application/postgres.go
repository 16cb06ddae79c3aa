package application

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"wirebench.dev/services/internal/settings"
)

// openPostgres opens a store on a server, whose tables `wirebench-store migrate` creates.
func openPostgres(ctx context.Context, config *settings.Settings) (*SQL, error) {
	server, err := pgx.ParseConfig(config.StoreURL)
	if err != nil {
		return nil, errors.New("its URL can't be read") // the error may quote the password
	}
	server.RuntimeParams["application_name"] = "wirebench"
	server.RuntimeParams["statement_timeout"] = strconv.FormatInt(config.StoreTimeout.Milliseconds(), 10)
	open := func() *sql.DB { return stdlib.OpenDB(*server) }
	tags := tagsColumn{
		asJSON: "array_to_json(tags)::text",                                    // until Go 1.27, database/sql has no arrays
		encode: func(tags []string) any { return append([]string{}, tags...) }, // never NULL
	}
	return openSQL(ctx, config, open, tags)
}
