package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
)

// NewTLS returns how connections are secured that trust the authorities in a PEM file and no others; without one, those of
// the system. They agree on a key exchange that all services know, and on HTTP/2 if asked to.
func NewTLS(authority string, isHTTP2 bool) (*tls.Config, error) {
	// Services have different libraries, and not all of those have the hybrid exchange that Go would ask for first.
	config := &tls.Config{MinVersion: tls.VersionTLS12, CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256}}
	if isHTTP2 {
		config.NextProtos = []string{"h2"}
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

// Secure does the TLS handshake with an address.
func Secure(ctx context.Context, plain net.Conn, address string, config *tls.Config) (*tls.Conn, error) {
	own := config.Clone()
	own.ServerName, _, _ = net.SplitHostPort(address)
	secured := tls.Client(plain, own)
	err := secured.HandshakeContext(ctx)
	if err == nil {
		return secured, nil
	}
	_ = plain.Close()
	failure := FailedConnect(err)
	if failure.Class != TLS && failure.Class != Timeout {
		failure = &Failure{Class: TLS, Message: "the TLS handshake failed: " + words(err)}
	}
	return nil, failure
}
