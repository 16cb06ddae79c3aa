package application

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"google.golang.org/grpc/codes"

	"wirebench.dev/services/internal/pb"
	"wirebench.dev/services/internal/settings"
)

const (
	checkTimeout = time.Second
	// In addition to the database's own timeout, for a server that doesn't answer at all.
	silenceMax = time.Second
	// PostgreSQL allows 65,535 parameters in a statement.
	rowsPerInsert = 1000
	userColumns   = "id, name, email, phone, address, bio, tags, avatar"
	// Until Go 1.27, database/sql has no arrays.
	selectedColumns = "id, name, email, phone, address, bio, array_to_json(tags)::text, avatar"

	// SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html
	queryCanceled, undefinedTable = "57014", "42P01"
	// What psycopg calls operational: connection, resources, intervention, system.
	operationalClasses = "08 53 57 58"
)

var (
	errUnavailable = Error(codes.Unavailable, "The store is unavailable. Try again later.")
	errTimeout     = Error(codes.Unavailable, "The store took too long. Try again later.")
	errInternal    = Error(codes.Internal, "Internal error.")
)

// Postgres is a store on a PostgreSQL server, whose tables `wirebench-store migrate` creates.
type Postgres struct {
	db         *sql.DB
	checks     *sql.DB // one connection, so that Check doesn't wait behind operations
	timeout    time.Duration
	operations atomic.Uint64

	selectUser, selectUsers, changeUser, removeUser, selectBalance, selectTransactions *sql.Stmt
}

// openPostgres prepares statements in a database that has our tables.
func openPostgres(ctx context.Context, config *settings.Settings) (*Postgres, error) {
	server, err := pgx.ParseConfig(config.StoreURL)
	if err != nil {
		return nil, errors.New("its URL can't be read") // the error may quote the password
	}
	server.RuntimeParams["application_name"] = "wirebench"
	server.RuntimeParams["statement_timeout"] = strconv.FormatInt(config.StoreTimeout.Milliseconds(), 10)
	s := &Postgres{db: stdlib.OpenDB(*server), checks: stdlib.OpenDB(*server), timeout: config.StoreTimeout + silenceMax}
	s.db.SetMaxOpenConns(config.StoreConnections)
	s.db.SetMaxIdleConns(config.StoreConnections)
	s.checks.SetMaxOpenConns(1)
	err = s.Check(ctx)
	prepare := func(text string) (statement *sql.Stmt) {
		if err == nil {
			statement, err = s.db.PrepareContext(ctx, text)
		}
		return statement
	}
	s.selectUser = prepare("SELECT " + selectedColumns + " FROM users WHERE id = $1")
	s.selectUsers = prepare("SELECT " + selectedColumns + " FROM users WHERE id > $1 ORDER BY id LIMIT $2")
	s.changeUser = prepare(`
		UPDATE users SET name = coalesce($1, name), email = coalesce($2, email), phone = coalesce($3, phone),
			address = coalesce($4, address), bio = coalesce($5, bio), tags = coalesce($6, tags), avatar = coalesce($7, avatar)
		WHERE id = $8 RETURNING ` + selectedColumns)
	s.removeUser = prepare("DELETE FROM users WHERE id = $1 RETURNING " + selectedColumns)
	s.selectBalance = prepare(`
		SELECT account_id, owner, currency, balance_cents, transactions FROM balances WHERE account_id = $1`)
	s.selectTransactions = prepare(`
		SELECT id, time, from_account_id, to_account_id, amount_cents, currency, reference, description
		FROM transactions WHERE (time, id) > ($1, $2) ORDER BY time, id LIMIT $3`)
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Check looks for our tables.
func (s *Postgres) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := s.checks.ExecContext(ctx, "SELECT 1 FROM users, balances, transactions LIMIT 0")
	if hasCode(err, undefinedTable) {
		return errors.New("the database has no wirebench tables; run: wirebench-store migrate")
	}
	return err
}

func (s *Postgres) Close() {
	_ = errors.Join(s.db.Close(), s.checks.Close())
}

func (s *Postgres) Waits() (count uint64, total time.Duration) {
	return s.operations.Load(), s.db.Stats().WaitDuration
}

func (s *Postgres) user(ctx context.Context, id int32) (*pb.User, error) {
	return queryOne(ctx, s, errNoUser, scanUser, s.selectUser, id)
}

func (s *Postgres) addUsers(ctx context.Context, users []*pb.User) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	s.operations.Add(1)
	if len(users) == 1 { // all or nothing without a transaction
		return s.insertUsers(ctx, s.db, users)
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = tx.Rollback() }() // which does nothing after a commit
	if err := s.insertUsers(ctx, tx, users); err != nil {
		return err
	}
	return translate(tx.Commit())
}

// queryer is a *sql.DB or a *sql.Tx.
type queryer interface {
	QueryContext(ctx context.Context, statement string, values ...any) (*sql.Rows, error)
}

// insertUsers adds the users whose ids are free, and returns an error with the ids that are taken.
func (s *Postgres) insertUsers(ctx context.Context, on queryer, users []*pb.User) error {
	// In the order of ids, so that two batches with common ids can't deadlock.
	users = slices.SortedFunc(slices.Values(users), func(a, b *pb.User) int { return cmp.Compare(a.Id, b.Id) })
	isAdded := make(map[int32]bool, len(users))
	for chunk := range slices.Chunk(users, rowsPerInsert) {
		var values []any
		for _, user := range chunk {
			values = append(values, userFields(user, encodeTags(user.Tags))...)
		}
		statement := "INSERT INTO users (" + userColumns + ") VALUES " + placeholders(len(chunk), len(values)/len(chunk)) +
			" ON CONFLICT DO NOTHING RETURNING id"
		rows, err := on.QueryContext(ctx, statement, values...)
		added, err := collect(rows, err, func(id *int32) []any { return []any{id} })
		if err != nil {
			return err
		}
		for _, id := range added {
			isAdded[*id] = true
		}
	}
	var taken []int32
	for _, user := range users {
		if !isAdded[user.Id] {
			taken = append(taken, user.Id)
		}
	}
	if taken != nil {
		return usersExist(taken)
	}
	return nil
}

// placeholders returns "($1, $2), ($3, $4)" for two rows of two columns.
func placeholders(rows, columns int) string {
	text, separator := &strings.Builder{}, "("
	for i := range rows * columns {
		fmt.Fprintf(text, "%s$%d", separator, i+1)
		separator = ", "
		if (i+1)%columns == 0 {
			separator = "), ("
		}
	}
	return text.String() + ")"
}

func (s *Postgres) updateUser(ctx context.Context, r *pb.UpdateUserRequest) (*pb.User, error) {
	var tags any // NULL keeps the old ones
	if len(r.Tags) > 0 {
		tags = encodeTags(r.Tags)
	}
	return queryOne(ctx, s, errNoUser, scanUser, s.changeUser,
		r.Name, r.Email, r.Phone, r.Address, r.Bio, tags, r.Avatar, r.Id)
}

func (s *Postgres) deleteUser(ctx context.Context, id int32) (*pb.User, error) {
	return queryOne(ctx, s, errNoUser, scanUser, s.removeUser, id)
}

func (s *Postgres) users(ctx context.Context, afterID, limit int32) ([]*pb.User, error) {
	return query(ctx, s, scanUser, s.selectUsers, afterID, cmp.Or(limit, math.MaxInt32))
}

func (s *Postgres) balance(ctx context.Context, accountID int32) (*pb.Balance, error) {
	return queryOne(ctx, s, errNoAccount, balanceFields, s.selectBalance, accountID)
}

func (s *Postgres) transactions(ctx context.Context, since, afterID, limit int32) ([]*pb.Transaction, error) {
	return query(ctx, s, transactionFields, s.selectTransactions, since, afterID, limit)
}

// The fields of messages in the order of their columns, to read into and to write from.
func userFields(u *pb.User, tags any) []any {
	return []any{&u.Id, &u.Name, &u.Email, &u.Phone, &u.Address, &u.Bio, tags, &u.Avatar}
}

func scanUser(u *pb.User) []any { return userFields(u, (*jsonList)(&u.Tags)) }

func balanceFields(b *pb.Balance) []any {
	return []any{&b.AccountId, &b.Owner, &b.Currency, &b.BalanceCents, &b.Transactions}
}

func transactionFields(t *pb.Transaction) []any {
	return []any{
		&t.Id, &t.Time, &t.FromAccountId, &t.ToAccountId, &t.AmountCents, &t.Currency, &t.Reference, &t.Description,
	}
}

// jsonList is a list of texts that a column holds as JSON.
type jsonList []string

func (l *jsonList) Scan(value any) error { return json.Unmarshal(fmt.Appendf(nil, "%s", value), l) }

// encodeTags returns an array for a column, which is never NULL.
func encodeTags(tags []string) []string { return append([]string{}, tags...) }

func queryOne[T any](
	ctx context.Context, s *Postgres, missing error, fields func(*T) []any, statement *sql.Stmt, values ...any,
) (*T, error) {
	found, err := query(ctx, s, fields, statement, values...)
	if err == nil && len(found) == 0 {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func query[T any](
	ctx context.Context, s *Postgres, fields func(*T) []any, statement *sql.Stmt, values ...any,
) ([]*T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	s.operations.Add(1)
	rows, err := statement.QueryContext(ctx, values...)
	return collect(rows, err, fields)
}

// collect reads the rows of a query; err is the query's own error.
func collect[T any](rows *sql.Rows, err error, fields func(*T) []any) ([]*T, error) {
	if err != nil {
		return nil, translate(err)
	}
	defer rows.Close()
	var found []*T
	for rows.Next() {
		each := new(T)
		if err := rows.Scan(fields(each)...); err != nil {
			return nil, translate(err)
		}
		found = append(found, each)
	}
	return found, translate(rows.Err())
}

// translate turns an error of the database or of a connection into the one for the client, and logs those that aren't
// expected while a database is busy, stopped or unreachable.
func translate(err error) error {
	var (
		server  *pgconn.PgError
		connect *pgconn.ConnectError
		network net.Error // also a context's deadline
	)
	switch {
	case err == nil:
		return nil
	case hasCode(err, queryCanceled):
		return errTimeout
	case errors.As(err, &server):
		// The tables were there when the service started.
		if strings.Contains(operationalClasses, server.Code[:2]) || server.Code == undefinedTable {
			return errUnavailable
		}
		log.Printf("the database rejected a statement: %v", err)
		return errInternal
	case !errors.As(err, &connect) && !errors.As(err, &network) && !errors.Is(err, io.ErrUnexpectedEOF) &&
		!errors.Is(err, driver.ErrBadConn) && !errors.Is(err, context.Canceled):
		log.Printf("the store failed: %v", err)
	}
	return errUnavailable
}

func hasCode(err error, code string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == code
}
