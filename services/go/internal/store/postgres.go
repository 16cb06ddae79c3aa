package store

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"wirebench.dev/services/internal/failure"
	"wirebench.dev/services/internal/pb"
)

const (
	// The version that `wirebench-store migrate` brings a database to.
	schemaVersion = 2
	// After the server's own statement_timeout: only a server that is gone without a word takes longer.
	silenceMax   = time.Second
	checkTimeout = time.Second

	userColumns = "id, name, email, phone, address, bio, tags, avatar"
	selectUser  = "SELECT " + userColumns + " FROM users WHERE id = $1"
	selectUsers = "SELECT " + userColumns + " FROM users WHERE id > $1 ORDER BY id LIMIT $2"
	deleteUser  = "DELETE FROM users WHERE id = $1 RETURNING " + userColumns
	insertUser  = "INSERT INTO users (" + userColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING"
	updateUser  = `
		UPDATE users SET name = coalesce($2, name), email = coalesce($3, email), phone = coalesce($4, phone),
			address = coalesce($5, address), bio = coalesce($6, bio), tags = coalesce($7, tags), avatar = coalesce($8, avatar)
		WHERE id = $1 RETURNING ` + userColumns
	selectBalance = "SELECT account_id, owner, currency, balance_cents, transactions FROM balances WHERE account_id = $1"
	// The first id of a time is one step in its index. If there is none, it is NULL, and the comparison is never true.
	selectTransactions = `
		SELECT id, time, from_account_id, to_account_id, amount_cents, currency, reference, description FROM transactions
		WHERE id > $1 AND id >= (SELECT id FROM transactions WHERE time >= $2 ORDER BY time, id LIMIT 1)
		ORDER BY id LIMIT $3`
)

var (
	errNoTables = errors.New("the database has no tables of wirebench's; run: wirebench-store migrate")
	errLost     = errors.New("the database can't be reached")
)

// Postgres is a store on a server, whose tables `wirebench-store migrate` makes.
type Postgres struct {
	pool *pgxpool.Pool
	// A connection of its own for checks, which must not wait behind operations.
	checks  *pgxpool.Pool
	timeout time.Duration
}

// OpenPostgres connects to a database that has our tables. Timeout is how long an operation may wait for a connection,
// and how long its statement may take.
func OpenPostgres(ctx context.Context, url string, connections int, timeout time.Duration) (*Postgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the store's URL can't be read") // the error may quote the password
	}
	config.MaxConns = int32(connections)
	config.ConnConfig.RuntimeParams["application_name"] = "wirebench"
	config.ConnConfig.RuntimeParams["statement_timeout"] = strconv.FormatInt(timeout.Milliseconds(), 10)
	p := &Postgres{timeout: timeout}
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	config = config.Copy()
	config.MaxConns = 1
	if p.checks, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := p.checkVersion(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Postgres) checkVersion(ctx context.Context) error {
	var version int
	err := p.checks.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM wirebench_schema").Scan(&version)
	switch {
	case isUndefinedTable(err):
		return errNoTables
	case err != nil:
		return err
	case version < schemaVersion:
		return fmt.Errorf("the database's schema has version %d, this program's %d; run: wirebench-store migrate",
			version, schemaVersion)
	case version > schemaVersion:
		return fmt.Errorf("the database's schema has version %d, newer than this program's %d; use a newer program, "+
			"or another database", version, schemaVersion)
	}
	return nil
}

// Waits returns how many operations have asked for a connection, and how long they have waited in all.
func (p *Postgres) Waits() (count uint64, total time.Duration) {
	stat := p.pool.Stat()
	return uint64(stat.AcquireCount()), stat.AcquireDuration()
}

// User returns a user.
func (p *Postgres) User(ctx context.Context, id int32) (*pb.User, error) {
	return p.oneUser(ctx, selectUser, id)
}

// AddUsers adds all users or none.
func (p *Postgres) AddUsers(ctx context.Context, users ...*pb.User) error {
	return p.use(ctx, func(ctx context.Context, connection *pgxpool.Conn) error {
		if len(users) == 1 {
			tag, err := connection.Exec(ctx, insertUser, columnsOf(users[0])...)
			if err == nil && tag.RowsAffected() == 0 {
				err = failure.UsersExist(users[0].GetId())
			}
			return err
		}
		return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error { return addBatch(ctx, tx, users) })
	})
}

func addBatch(ctx context.Context, tx pgx.Tx, users []*pb.User) error {
	// In the order of ids, so that batches that share some wait for each other, and don't lock each other out.
	users = slices.SortedFunc(slices.Values(users), func(a, b *pb.User) int { return int(a.GetId()) - int(b.GetId()) })
	batch := &pgx.Batch{}
	var taken []int32
	for _, user := range users {
		batch.Queue(insertUser, columnsOf(user)...).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 0 {
				taken = append(taken, user.GetId())
			}
			return nil
		})
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil || taken == nil {
		return err
	}
	return failure.UsersExist(taken...)
}

func columnsOf(u *pb.User) []any {
	tags := append([]string{}, u.Tags...) // NULL isn't allowed
	return []any{u.Id, u.Name, u.Email, u.Phone, u.Address, u.Bio, tags, u.Avatar}
}

// UpdateUser replaces the given fields of a user and returns it.
func (p *Postgres) UpdateUser(ctx context.Context, r *pb.UpdateUserRequest) (*pb.User, error) {
	tags := r.Tags
	if len(tags) == 0 {
		tags = nil // NULL, by which they stay
	}
	return p.oneUser(ctx, updateUser, r.Id, r.Name, r.Email, r.Phone, r.Address, r.Bio, tags, r.Avatar)
}

// DeleteUser removes a user and returns it as it was.
func (p *Postgres) DeleteUser(ctx context.Context, id int32) (*pb.User, error) {
	return p.oneUser(ctx, deleteUser, id)
}

// Users returns a page of users.
func (p *Postgres) Users(ctx context.Context, afterID, limit int32) ([]*pb.User, error) {
	var rows any // NULL for all
	if limit > 0 {
		rows = limit
	}
	return query(ctx, p, scanUser, selectUsers, afterID, rows)
}

// Balance returns what an account holds.
func (p *Postgres) Balance(ctx context.Context, accountID int32) (*pb.Balance, error) {
	found, err := query(ctx, p, func(row pgx.CollectableRow) (*pb.Balance, error) {
		b := &pb.Balance{}
		return b, row.Scan(&b.AccountId, &b.Owner, &b.Currency, &b.BalanceCents, &b.Transactions)
	}, selectBalance, accountID)
	if err == nil && len(found) == 0 {
		err = failure.AccountNotFound()
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Transactions returns a page of transactions.
func (p *Postgres) Transactions(ctx context.Context, since, afterID, limit int32) ([]*pb.Transaction, error) {
	return query(ctx, p, func(row pgx.CollectableRow) (*pb.Transaction, error) {
		t := &pb.Transaction{}
		return t, row.Scan(&t.Id, &t.Time, &t.FromAccountId, &t.ToAccountId, &t.AmountCents, &t.Currency, &t.Reference,
			&t.Description)
	}, selectTransactions, afterID, since, limit)
}

// Check returns why the store can't be used now, or nil.
func (p *Postgres) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := p.checks.Exec(ctx, "SELECT FROM wirebench_schema")
	switch {
	case isUndefinedTable(err):
		return errNoTables
	case err != nil:
		return errLost
	}
	return nil
}

// Close closes all connections.
func (p *Postgres) Close() {
	p.pool.Close()
	p.checks.Close()
}

func (p *Postgres) oneUser(ctx context.Context, statement string, values ...any) (*pb.User, error) {
	found, err := query(ctx, p, scanUser, statement, values...)
	if err == nil && len(found) == 0 {
		err = failure.UserNotFound()
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func scanUser(row pgx.CollectableRow) (*pb.User, error) {
	u := &pb.User{}
	return u, row.Scan(&u.Id, &u.Name, &u.Email, &u.Phone, &u.Address, &u.Bio, &u.Tags, &u.Avatar)
}

func query[T any](
	ctx context.Context, p *Postgres, scan pgx.RowToFunc[T], statement string, values ...any,
) (found []T, err error) {
	err = p.use(ctx, func(ctx context.Context, connection *pgxpool.Conn) error {
		rows, err := connection.Query(ctx, statement, values...)
		if err == nil {
			found, err = pgx.CollectRows(rows, scan)
		}
		return err
	})
	return found, err
}

// use calls a function with a connection of the pool, and translates its error.
func (p *Postgres) use(ctx context.Context, ask func(context.Context, *pgxpool.Conn) error) error {
	waiting, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	connection, err := p.pool.Acquire(waiting)
	if err != nil {
		return failure.Unavailable
	}
	defer connection.Release()
	asking, cancel := context.WithTimeout(ctx, p.timeout+silenceMax)
	defer cancel()
	return translate(ask(asking, connection))
}

// translate returns what a client is told of an error of the server or of a connection.
func translate(err error) error {
	var server *pgconn.PgError
	switch {
	case err == nil || failure.Is(err):
		return err
	case !errors.As(err, &server):
		return failure.Unavailable // the connection failed
	case server.Code == "57014": // query_canceled, by statement_timeout
		return failure.Timeout
	case isUndefinedTable(err), strings.Contains("08 53 57 58", server.Code[:2]):
		// Of classes that psycopg calls operational; a service that has started had tables.
		return failure.Unavailable
	default:
		log.Printf("the database rejected a statement: %v", err)
		return failure.Internal
	}
}

func isUndefinedTable(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == "42P01"
}
