// Package secure is what wirebench adds to a client's TLS: an authority of our own, and a record of what
// connections have agreed on.
package secure

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"sync"
)

// Agreement is what a handshake came to.
type Agreement struct {
	Version     string `json:"version"`
	CipherSuite string `json:"cipher_suite"`
	KeyExchange string `json:"key_exchange"`
	// Resumed says whether an earlier session was resumed, which saves most of a handshake.
	Resumed bool `json:"resumed"`
	// Handshakes is how many came to the same.
	Handshakes int64 `json:"handshakes"`
}

// Handshakes are counted for the whole process, because its one output reports them.
var (
	mutex  sync.Mutex
	counts = map[Agreement]int64{}
)

// NewConfig returns how connections are made that trust the authorities in a PEM file and no others; without one, those of
// the system. They agree on a key exchange that all services know, and on HTTP/2 if asked to; their handshakes are counted.
func NewConfig(authority string, isHTTP2 bool) (*tls.Config, error) {
	// Services have different libraries, and not all of those have the hybrid exchange that Go would ask for first.
	config := &tls.Config{MinVersion: tls.VersionTLS12, CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256}}
	if isHTTP2 {
		config.NextProtos = []string{"h2"}
	}
	config.VerifyConnection = func(state tls.ConnectionState) error {
		count(state)
		return nil
	}
	if authority == "" {
		return config, nil
	}
	authorities, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("%s: there is no certificate in PEM form to trust", authority)
	}
	return config, nil
}

func count(state tls.ConnectionState) {
	made := Agreement{
		Version:     tls.VersionName(state.Version),
		CipherSuite: tls.CipherSuiteName(state.CipherSuite),
		KeyExchange: state.CurveID.String(),
		Resumed:     state.DidResume,
	}
	mutex.Lock()
	defer mutex.Unlock()
	counts[made]++
}

// Counted returns what the handshakes so far came to, the most frequent first.
func Counted() []Agreement {
	mutex.Lock()
	defer mutex.Unlock()
	var made []Agreement
	for agreement, handshakes := range counts {
		agreement.Handshakes = handshakes
		made = append(made, agreement)
	}
	slices.SortFunc(made, func(a, b Agreement) int {
		return cmp.Or(cmp.Compare(b.Handshakes, a.Handshakes), cmp.Compare(a.CipherSuite, b.CipherSuite))
	})
	return made
}
