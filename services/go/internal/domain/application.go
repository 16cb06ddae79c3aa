package domain

// Application is everything that operations act on.
type Application struct {
	Users  *Users
	Ledger *Ledger
}

// NewApplication returns an application with the seeded data.
func NewApplication() *Application {
	return &Application{Users: NewUsers(NewStore(SeededUsers())), Ledger: NewLedger()}
}
