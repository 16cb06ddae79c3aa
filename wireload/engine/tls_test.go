package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

// certify returns a certificate that is its own authority.
func certify(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// secured handles connections with TLS.
func secured(config *tls.Config, handle func(net.Conn)) func(net.Conn) {
	return func(plain net.Conn) {
		connection := tls.Server(plain, config)
		if connection.Handshake() == nil {
			handle(connection)
		}
	}
}

func TestTLS(t *testing.T) {
	certificate, trusted := certify(t)
	server := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}}
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			load := p.load(transporttest.Serve(t, secured(server, p.answering(0))), time.Minute)
			load.Calls = 20
			load.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}
			if name == "grpc" {
				load.TLS.NextProtos = []string{"h2"}
			}
			if measured := measure(t, load); measured.RequestsTotal[histogram.OK] != 20 {
				t.Errorf("want 20 successes, got %v: %v", measured.RequestsTotal, measured.Errors)
			}
		})
	}
}

func TestAServerThatIsNotTrustedFails(t *testing.T) {
	certificate, _ := certify(t)
	server := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			load := p.load(transporttest.Serve(t, secured(server, p.answering(0))), time.Minute)
			load.Calls, load.TLS = 20, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
			measured := measure(t, load)
			if measured.RequestsTotal[histogram.OK] != 0 || measured.ErrorClasses[string(transport.TLS)] == 0 {
				t.Errorf("want failures of TLS, got %v: %v", measured.ErrorClasses, measured.Errors)
			}
		})
	}
}
