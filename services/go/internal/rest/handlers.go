package rest

import (
	"net/http"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/pb"
)

// handler handles an operation; its error is the reply.
type handler struct {
	operation string
	handle    func(w http.ResponseWriter, r *http.Request) error
}

// ServeHTTP calls the handler, and replies with its error unless it has begun a reply.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	measured := w.(*response) // by measure
	measured.operation = h.operation
	measured.err = h.handle(w, r)
	if measured.err != nil && measured.status == 0 {
		replyError(w, r, measured.err)
	}
}

type api struct{ *application.Application }

func newMux(app *application.Application) *http.ServeMux {
	a := api{app}
	mux := http.NewServeMux()
	mux.Handle("GET /api/users", handler{"users.list", a.listUsers})
	mux.Handle("POST /api/users", handler{"users.create", a.createUser})
	mux.Handle("POST /api/users/batch", handler{"users.create_batch", a.createUserBatch})
	mux.Handle("GET /api/users/{id}", handler{"users.get", a.getUser})
	mux.Handle("PUT /api/users/{id}", handler{"users.update", a.updateUser})
	mux.Handle("DELETE /api/users/{id}", handler{"users.delete", a.deleteUser})
	mux.Handle("GET /accounts/{account_id}/balance", handler{"ledger.get_balance", a.getBalance})
	mux.Handle("GET /transactions/stream", handler{"ledger.stream_transactions", a.streamTransactions})
	mux.Handle("POST /echo", handler{"echo.echo", a.echo})
	mux.Handle("POST /upper", handler{"echo.upper", a.upper})
	return mux
}

func (a api) listUsers(w http.ResponseWriter, r *http.Request) error {
	request := &pb.ListUsersRequest{}
	if err := decode(r, request, "limit", "after_id"); err != nil {
		return err
	}
	users, err := a.Users.ListUsers(r.Context(), request)
	return reply(w, r, http.StatusOK, users, err)
}

func (a api) createUser(w http.ResponseWriter, r *http.Request) error {
	request := &pb.CreateUserRequest{}
	if err := decode(r, request); err != nil {
		return err
	}
	user, err := a.Users.CreateUser(r.Context(), request)
	return reply(w, r, http.StatusCreated, user, err)
}

func (a api) createUserBatch(w http.ResponseWriter, r *http.Request) error {
	request := &pb.CreateUserBatchRequest{}
	if err := decode(r, request); err != nil {
		return err
	}
	users, err := a.Users.CreateUserBatch(r.Context(), request)
	return reply(w, r, http.StatusCreated, users, err)
}

func (a api) getUser(w http.ResponseWriter, r *http.Request) error {
	request := &pb.GetUserRequest{}
	if err := decode(r, request); err != nil {
		return err
	}
	user, err := a.Users.GetUser(r.Context(), request)
	return reply(w, r, http.StatusOK, user, err)
}

func (a api) updateUser(w http.ResponseWriter, r *http.Request) error {
	request := &pb.UpdateUserRequest{}
	if err := decode(r, request); err != nil {
		return err
	}
	user, err := a.Users.UpdateUser(r.Context(), request)
	return reply(w, r, http.StatusOK, user, err)
}

func (a api) deleteUser(w http.ResponseWriter, r *http.Request) error {
	request := &pb.DeleteUserRequest{}
	if err := decode(r, request); err != nil {
		return err
	}
	user, err := a.Users.DeleteUser(r.Context(), request)
	return reply(w, r, http.StatusOK, user, err)
}

func (a api) getBalance(w http.ResponseWriter, r *http.Request) error {
	request := &pb.GetBalanceRequest{}
	if err := decode(r, request); err != nil {
		return err
	}
	balance, err := a.Ledger.GetBalance(r.Context(), request)
	return reply(w, r, http.StatusOK, balance, err)
}

func (a api) echo(w http.ResponseWriter, r *http.Request) error {
	request := &pb.EchoRequest{}
	if err := decode(r, request); err != nil {
		return err
	}
	payload, err := a.Echo.Echo(r.Context(), request)
	return reply(w, r, http.StatusOK, payload, err)
}

func (a api) upper(w http.ResponseWriter, r *http.Request) error {
	request := &pb.UpperRequest{}
	if err := decode(r, request); err != nil {
		return err
	}
	text, err := a.Echo.Upper(r.Context(), request)
	return reply(w, r, http.StatusOK, text, err)
}
