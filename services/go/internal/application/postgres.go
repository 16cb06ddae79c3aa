package application

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/grpc/codes"

	"wirebench.dev/services/internal/pb"
	"wirebench.dev/services/internal/settings"
)

const (
	checkTimeout = time.Second
	// In addition to the database's own timeout, for a server that doesn't answer at all.
	silenceMax = time.Second

	insertUser = "INSERT INTO users VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
	updateUser = `
		UPDATE users SET name = coalesce($1, name), email = coalesce($2, email), phone = coalesce($3, phone),
			address = coalesce($4, address), bio = coalesce($5, bio), tags = coalesce($6, tags), avatar = coalesce($7, avatar)
		WHERE id = $8 RETURNING *`
	selectTransactions = "SELECT * FROM transactions WHERE (time, id) > ($1, $2) ORDER BY time, id LIMIT $3"

	// SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html
	queryCanceled, undefinedTable, uniqueViolation = "57014", "42P01", "23505"
	// What psycopg calls operational: connection, resources, intervention, system.
	operationalClasses = "08 53 57 58"
)

var (
	errUnavailable = Error(codes.Unavailable, "The store is unavailable. Try again later.")
	errTimeout     = Error(codes.Unavailable, "The store took too long. Try again later.")
	errInternal    = Error(codes.Internal, "Internal error.")
)

// Postgres is a store on a PostgreSQL server, whose tables `wirebench-store migrate` creates. pgx prepares each statement
// once for each connection.
type Postgres struct {
	pool    *pgxpool.Pool
	checks  *pgx.ConnConfig // for connections of their own: Check doesn't wait behind operations
	timeout time.Duration
}

// openPostgres opens a database that has our tables.
func openPostgres(ctx context.Context, config *settings.Settings) (*Postgres, error) {
	server, err := pgxpool.ParseConfig(config.StoreURL)
	if err != nil {
		return nil, errors.New("its URL can't be read") // the error may quote the password
	}
	server.ConnConfig.RuntimeParams["application_name"] = "wirebench"
	server.ConnConfig.RuntimeParams["statement_timeout"] = strconv.FormatInt(config.StoreTimeout.Milliseconds(), 10)
	server.MaxConns = int32(config.StoreConnections)
	s := &Postgres{checks: server.ConnConfig.Copy(), timeout: config.StoreTimeout + silenceMax}
	if s.pool, err = pgxpool.NewWithConfig(ctx, server); err != nil {
		return nil, err
	}
	if err := s.Check(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Check looks for our tables.
func (s *Postgres) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	connection, err := pgx.ConnectConfig(ctx, s.checks)
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	_, err = connection.Exec(ctx, "SELECT 1 FROM users, balances, transactions LIMIT 0")
	if hasCode(err, undefinedTable) {
		return errors.New("the database has no wirebench tables; run: wirebench-store migrate")
	}
	return err
}

func (s *Postgres) Close() { s.pool.Close() }

func (s *Postgres) user(ctx context.Context, id int32) (*pb.User, error) {
	return queryOne[pb.User](ctx, s, errNoUser, "SELECT * FROM users WHERE id = $1", id)
}

// addUsers sends all users in one batch, which is a transaction.
func (s *Postgres) addUsers(ctx context.Context, users []*pb.User) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	batch, ids := &pgx.Batch{}, []int32{}
	// In the order of ids, so that two batches with common ids can't deadlock.
	for _, u := range slices.SortedFunc(slices.Values(users), func(a, b *pb.User) int { return cmp.Compare(a.Id, b.Id) }) {
		tags := append([]string{}, u.Tags...) // never NULL
		batch.Queue(insertUser, u.Id, u.Name, u.Email, u.Phone, u.Address, u.Bio, tags, u.Avatar)
		ids = append(ids, u.Id)
	}
	err := s.pool.SendBatch(ctx, batch).Close()
	if !hasCode(err, uniqueViolation) {
		return translate(err)
	}
	rows, _ := s.pool.Query(ctx, "SELECT id FROM users WHERE id = ANY($1)", ids)
	taken, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	return cmp.Or(translate(err), usersExist(taken))
}

func (s *Postgres) updateUser(ctx context.Context, r *pb.UpdateUserRequest) (*pb.User, error) {
	tags := r.Tags
	if len(tags) == 0 {
		tags = nil // NULL keeps the old value
	}
	return queryOne[pb.User](ctx, s, errNoUser, updateUser,
		r.Name, r.Email, r.Phone, r.Address, r.Bio, tags, r.Avatar, r.Id)
}

func (s *Postgres) deleteUser(ctx context.Context, id int32) (*pb.User, error) {
	return queryOne[pb.User](ctx, s, errNoUser, "DELETE FROM users WHERE id = $1 RETURNING *", id)
}

func (s *Postgres) users(ctx context.Context, afterID, limit int32) ([]*pb.User, error) {
	statement := "SELECT * FROM users WHERE id > $1 ORDER BY id LIMIT $2"
	return query[pb.User](ctx, s, statement, afterID, cmp.Or(limit, math.MaxInt32))
}

func (s *Postgres) balance(ctx context.Context, accountID int32) (*pb.Balance, error) {
	return queryOne[pb.Balance](ctx, s, errNoAccount, "SELECT * FROM balances WHERE account_id = $1", accountID)
}

func (s *Postgres) transactions(ctx context.Context, since, afterID, limit int32) ([]*pb.Transaction, error) {
	return query[pb.Transaction](ctx, s, selectTransactions, since, afterID, limit)
}

func queryOne[T any](ctx context.Context, s *Postgres, missing error, statement string, values ...any) (*T, error) {
	found, err := query[T](ctx, s, statement, values...)
	if err == nil && len(found) == 0 {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// query reads rows into messages, whose fields are in the order of the columns.
func query[T any](ctx context.Context, s *Postgres, statement string, values ...any) ([]*T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	rows, _ := s.pool.Query(ctx, statement, values...) // an error is also that of the rows
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[T])
	return found, translate(err)
}

// translate turns an error of the database or of a connection into the one for the client, and logs what isn't expected
// while a database is busy, stopped or unreachable.
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
	// The tables were there when the service started.
	case errors.As(err, &server) && (strings.Contains(operationalClasses, server.Code[:2]) || server.Code == undefinedTable),
		errors.As(err, &connect), errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, context.Canceled), pgconn.SafeToRetry(err):
		return errUnavailable
	}
	log.Printf("the store failed: %v", err)
	return errInternal
}

func hasCode(err error, code string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == code
}
