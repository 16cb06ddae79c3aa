package engine

import (
	"bufio"
	"context"
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
				load.Protocols = []string{"h2"}
			}
			if measured := measure(t, load); measured.RequestsTotal[histogram.OK] != 20 {
				t.Errorf("want 20 successes, got %v: %v", measured.RequestsTotal, measured.Errors)
			}
		})
	}
}

// TestAnInterruptWritesNothing has servers that never answer, and look for a close_notify below TLS.
func TestAnInterruptWritesNothing(t *testing.T) {
	certificate, trusted := certify(t)
	server := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}}
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			written := make(chan int, 1)
			load := p.load(transporttest.Serve(t, secured(server, func(c net.Conn) {
				_ = p.readRequest(bufio.NewReader(c))
				interrupt()
				count, _ := c.(*tls.Conn).NetConn().Read(make([]byte, 1))
				written <- count
			})), time.Minute)
			load.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}
			if name == "grpc" {
				load.Protocols = []string{"h2"}
			}
			measured, err := Run(ctx, load, "test")
			if err != nil || len(measured.RequestsTotal) != 0 {
				t.Errorf("want no request, got %v: %v", measured.RequestsTotal, err)
			}
			if <-written != 0 {
				t.Error("the interrupt has written to the connection")
			}
		})
	}
}

func TestAHandshakeThatIsCutShortIsAFailureOfTLS(t *testing.T) {
	for name, end := range map[string]func(net.Conn){
		"the TLS handshake failed: the server closed the connection": func(net.Conn) {},
		"the TLS handshake failed: the server reset the connection":  func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) },
	} {
		const helloBytesMax = 16 << 10
		load := protocols["rest"].load(transporttest.Serve(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, helloBytesMax))
			end(c)
		}), time.Minute)
		load.Calls, load.TLS = 5, &tls.Config{MinVersion: tls.VersionTLS12}
		measured := measure(t, load)
		if measured.ErrorClasses[string(transport.TLS)] == 0 || len(measured.ErrorClasses) != 1 || measured.Errors[0].Message != name {
			t.Errorf("want %q, got %v: %v", name, measured.ErrorClasses, measured.Errors)
		}
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
