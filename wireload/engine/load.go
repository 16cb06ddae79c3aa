// Package engine sends the requests of a load, each user's on a goroutine of its own, and records how long their replies
// took. It is the same for all transports.
package engine

import (
	"crypto/tls"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/live"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

// Load is what is to be sent, and what is measured of it; a job file has some of it.
type Load struct {
	// Addresses are host:port of the service's replicas; users take them in turn.
	Addresses []string `json:"addresses"`
	// TLS is nil for plain text.
	TLS *tls.Config `json:"-"`
	// NewClient returns what speaks the protocol to an address.
	NewClient func(address string) transport.Client `json:"-"`
	// NewSource returns the requests of a user; users are numbered from 0.
	NewSource func(user int) request.Source `json:"-"`

	// Users is how many users there are; UsersMax, where it is more, how many there may be in an open load: a request that
	// is due while all are busy gets a new one.
	Users    int `json:"concurrency"`
	UsersMax int `json:"concurrency_max"`
	// Connections is how many connections they share, where clients are transport.Multiplexed; 0: each has its own.
	Connections int `json:"connections"`
	// RatePerS is how many requests of an open load are due in a second, and Arrivals is when they are due instead, from the
	// start. The users of a closed load, which has neither, send when they have a reply.
	RatePerS int64           `json:"rate_per_s"`
	Arrivals []time.Duration `json:"arrivals"`
	// Calls is how many requests each user sends after WarmupCalls; 0 for a load of a duration.
	Calls       int     `json:"calls"`
	WarmupCalls int     `json:"warmup_calls"`
	Barrier     Barrier `json:"-"`
	// SpawnRatePerS is how many users of a closed load start in a second; 0 is all at once.
	SpawnRatePerS float64 `json:"spawn_rate_per_s"`
	// Duration is how long requests are sent; that of a load by calls is the longest that it may take.
	Duration time.Duration `json:"-"`
	// Timeout is for a reply, connecting included; of a stream it is the longest time without an item.
	Timeout time.Duration `json:"-"`
	// Reopen has each request sent on a fresh connection.
	Reopen bool `json:"reopen"`
	// CheckEvery has the content of every nth reply of a user checked; 0: none. OnMismatch gets what is wrong.
	CheckEvery int                               `json:"check_every"`
	OnMismatch func(operation string, err error) `json:"-"`

	// Measured says what becomes part of the histogram file.
	Measured histogram.Options `json:"-"`
	// Live pushes the load's metrics to Prometheus, if it isn't nil.
	Live *live.Publisher `json:"-"`
}
