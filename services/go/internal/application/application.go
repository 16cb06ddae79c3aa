package application

import (
	"context"

	"wirebench.dev/services/internal/store"
)

// Application is what a transport serves.
type Application struct {
	Users  *Users
	Ledger *Ledger
	Echo   *Echo
}

// New returns the application over a store. Streams end when stopping is done.
func New(stopping context.Context, over store.Store) *Application {
	return &Application{Users: &Users{store: over}, Ledger: &Ledger{store: over, stopping: stopping}, Echo: &Echo{}}
}
