package application

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
	"google.golang.org/grpc/codes"

	"wirebench.dev/services/internal/pb"
)

const (
	// What `wirebench-store migrate` brings a database to.
	schemaVersion = 2
	checkTimeout  = time.Second
	// After the server's own statement_timeout, for a server that is gone without a word.
	silenceMax = time.Second

	// SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html
	queryCanceled, undefinedTable, uniqueViolation = "57014", "42P01", "23505"
	// What psycopg calls operational: connection, resources, intervention, system.
	operationalClasses = "08 53 57 58"

	userColumns = "id, name, email, phone, address, bio, tags, avatar"
	insertUser  = "INSERT INTO users (" + userColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
	updateUser  = `
		UPDATE users SET name = coalesce($2, name), email = coalesce($3, email), phone = coalesce($4, phone),
			address = coalesce($5, address), bio = coalesce($6, bio), tags = coalesce($7, tags), avatar = coalesce($8, avatar)
		WHERE id = $1 RETURNING ` + userColumns
	// The first id of a time is one step in its index. If there is none, it is NULL, and the comparison is never true.
	selectTransactions = `
		SELECT id, time, from_account_id, to_account_id, amount_cents, currency, reference, description FROM transactions
		WHERE id > $1 AND id >= (SELECT id FROM transactions WHERE time >= $2 ORDER BY time, id LIMIT 1)
		ORDER BY id LIMIT $3`
)

var (
	errUnavailable = Error(codes.Unavailable, "The store is unavailable. Try again later.")
	errTimeout     = Error(codes.Unavailable, "The store took too long. Try again later.")
	errInternal    = Error(codes.Internal, "Internal error.")
)

// Postgres is a store on a server, whose tables `wirebench-store migrate` makes.
type Postgres struct {
	pool    *pgxpool.Pool
	timeout time.Duration
}

// OpenPostgres connects to a database that has our tables. A statement may take as long as timeout.
func OpenPostgres(ctx context.Context, url string, connections int, timeout time.Duration) (*Postgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("its URL can't be read") // the error may quote the password
	}
	config.MaxConns = int32(connections)
	config.ConnConfig.RuntimeParams["application_name"] = "wirebench"
	config.ConnConfig.RuntimeParams["statement_timeout"] = strconv.FormatInt(timeout.Milliseconds(), 10)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	p := &Postgres{pool, timeout + silenceMax}
	return p, p.Check(ctx)
}

// Check looks for our tables on a connection of its own, which doesn't wait behind operations.
func (p *Postgres) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	connection, err := pgx.ConnectConfig(ctx, p.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	var version int
	err = connection.QueryRow(ctx, "SELECT max(version) FROM wirebench_schema").Scan(&version)
	if hasCode(err, undefinedTable) {
		return errors.New("the database has no wirebench tables; run: wirebench-store migrate")
	}
	if err == nil && version != schemaVersion {
		return fmt.Errorf("the database's schema has version %d, this program's %d; run: wirebench-store migrate", version,
			schemaVersion)
	}
	return err
}

// Close closes all connections.
func (p *Postgres) Close() { p.pool.Close() }

// Waits returns how many operations have asked for a connection, and how long they have waited in all.
func (p *Postgres) Waits() (count uint64, total time.Duration) {
	stat := p.pool.Stat()
	return uint64(stat.AcquireCount()), stat.AcquireDuration()
}

func (p *Postgres) user(ctx context.Context, id int32) (*pb.User, error) {
	return queryOne[pb.User](ctx, p, errNoUser, "SELECT "+userColumns+" FROM users WHERE id = $1", id)
}

func (p *Postgres) addUsers(ctx context.Context, users []*pb.User) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	// In the order of ids, so that batches that share some wait for each other, and don't lock each other out.
	users = slices.SortedFunc(slices.Values(users), func(a, b *pb.User) int { return int(a.Id) - int(b.Id) })
	ids, rows := make([]int32, len(users)), make([][]any, len(users))
	for i, u := range users {
		tags := append([]string{}, u.Tags...) // NULL isn't allowed
		ids[i], rows[i] = u.Id, []any{u.Id, u.Name, u.Email, u.Phone, u.Address, u.Bio, tags, u.Avatar}
	}
	var err error
	if len(users) == 1 {
		_, err = p.pool.Exec(ctx, insertUser, rows[0]...)
	} else {
		columns := strings.Split(userColumns, ", ")
		_, err = p.pool.CopyFrom(ctx, pgx.Identifier{"users"}, columns, pgx.CopyFromRows(rows)) // all or nothing
	}
	if !hasCode(err, uniqueViolation) {
		return translate(err)
	}
	taken, err := query(ctx, p, pgx.RowTo[int32], "SELECT id FROM users WHERE id = ANY($1)", ids)
	if err != nil {
		return err
	}
	return usersExist(taken)
}

func (p *Postgres) updateUser(ctx context.Context, r *pb.UpdateUserRequest) (*pb.User, error) {
	tags := r.Tags
	if len(tags) == 0 {
		tags = nil // NULL, by which they stay
	}
	return queryOne[pb.User](ctx, p, errNoUser, updateUser, r.Id, r.Name, r.Email, r.Phone, r.Address, r.Bio, tags,
		r.Avatar)
}

func (p *Postgres) deleteUser(ctx context.Context, id int32) (*pb.User, error) {
	return queryOne[pb.User](ctx, p, errNoUser, "DELETE FROM users WHERE id = $1 RETURNING "+userColumns, id)
}

func (p *Postgres) users(ctx context.Context, afterID, limit int32) ([]*pb.User, error) {
	const statement = "SELECT " + userColumns + " FROM users WHERE id > $1 ORDER BY id LIMIT nullif($2::integer, 0)"
	return query(ctx, p, pgx.RowToAddrOfStructByName[pb.User], statement, afterID, limit)
}

func (p *Postgres) balance(ctx context.Context, accountID int32) (*pb.Balance, error) {
	const statement = "SELECT account_id, owner, currency, balance_cents, transactions FROM balances WHERE account_id = $1"
	return queryOne[pb.Balance](ctx, p, errNoAccount, statement, accountID)
}

func (p *Postgres) transactions(ctx context.Context, since, afterID, limit int32) ([]*pb.Transaction, error) {
	return query(ctx, p, pgx.RowToAddrOfStructByName[pb.Transaction], selectTransactions, afterID, since, limit)
}

func queryOne[T any](ctx context.Context, p *Postgres, missing error, statement string, values ...any) (*T, error) {
	found, err := query(ctx, p, pgx.RowToAddrOfStructByName[T], statement, values...)
	if err == nil && len(found) == 0 {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func query[T any](ctx context.Context, p *Postgres, scan pgx.RowToFunc[T], statement string, values ...any) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	rows, _ := p.pool.Query(ctx, statement, values...) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, scan)
	return found, translate(err)
}

// translate turns an error of the server or of a connection into the one for the client.
func translate(err error) error {
	var server *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case hasCode(err, queryCanceled): // by statement_timeout
		return errTimeout
	case !errors.As(err, &server), strings.Contains(operationalClasses, server.Code[:2]), hasCode(err, undefinedTable):
		return errUnavailable // the tables were there when the service started
	}
	log.Printf("the database rejected a statement: %v", err)
	return errInternal
}

func hasCode(err error, code string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == code
}
