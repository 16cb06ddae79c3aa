package application

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"wirebench.dev/services/internal/settings"
)

// The tables that wirebench's other services create.
const schema = `
	CREATE TABLE users (
		id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, phone TEXT, address TEXT, bio TEXT,
		tags TEXT NOT NULL, avatar BLOB
	);
	CREATE TABLE balances (
		account_id INTEGER PRIMARY KEY, owner TEXT NOT NULL, currency TEXT NOT NULL, balance_cents INTEGER NOT NULL,
		transactions INTEGER NOT NULL
	);
	CREATE TABLE transactions (
		id INTEGER PRIMARY KEY, time INTEGER NOT NULL, from_account_id INTEGER NOT NULL, to_account_id INTEGER NOT NULL,
		amount_cents INTEGER NOT NULL, currency TEXT NOT NULL, reference TEXT NOT NULL, description TEXT NOT NULL
	);
	CREATE INDEX transactions_time ON transactions (time, id);`

// openSQLite opens a store in a file, or in a temporary one, which is created with our tables if it isn't there.
func openSQLite(ctx context.Context, config *settings.Settings) (s *SQL, err error) {
	path, temporary := config.StorePath, ""
	if path == "" {
		if temporary, err = os.MkdirTemp("", "wirebench-go-"); err != nil {
			return nil, err
		}
		path = filepath.Join(temporary, "users.sqlite")
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	parameters := url.Values{
		"_txlock": {"immediate"}, // writers wait when they begin, and don't fail half-way
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", config.StoreTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(NORMAL)",
		},
	}
	address := url.URL{Scheme: "file", Path: path, RawQuery: parameters.Encode()}
	open := func() *sql.DB {
		db, _ := sql.Open("sqlite", address.String()) // it fails for unknown drivers only
		return db
	}
	if err = createTables(ctx, open, config.SeedUsers); err == nil {
		encode := func(tags []string) any { return jsonList(tags) }
		s, err = openSQL(ctx, config, open, tagsColumn{asJSON: "tags", encode: encode})
	}
	if err != nil {
		_ = os.RemoveAll(temporary)
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.temporary = temporary
	return s, nil
}

// createTables creates and fills the tables, unless they exist. Services that start at once wait for one another.
func createTables(ctx context.Context, open func() *sql.DB, seedUsers int) error {
	db := open()
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // which does nothing after a commit
	var exists bool
	err = tx.QueryRowContext(ctx, "SELECT count(*) > 0 FROM sqlite_master WHERE name = 'users'").Scan(&exists)
	if err != nil || exists {
		return err
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	balances := seedBalances()
	if err := errors.Join(
		fill(ctx, tx, "users", seedUsers, func(i int) []any { return scanUser(seedUser(i)) }),
		fill(ctx, tx, "balances", accounts, func(i int) []any { return balanceFields(balances[i]) }),
		fill(ctx, tx, "transactions", transactions, func(i int) []any {
			return transactionFields(seedTransaction(int32(i) + 1))
		}),
	); err != nil {
		return err
	}
	return tx.Commit()
}

// fill inserts so many rows.
func fill(ctx context.Context, tx *sql.Tx, table string, count int, row func(i int) []any) error {
	insert, err := tx.PrepareContext(ctx, "INSERT INTO "+table+" VALUES "+placeholders(1, len(row(0))))
	for i := 0; i < count && err == nil; i++ {
		_, err = insert.ExecContext(ctx, row(i)...)
	}
	return err
}
