package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// identity is a certificate that is its own authority, for loopback.
type identity struct {
	pair tls.Certificate
	cert string // A PEM file.
}

func newIdentity(t *testing.T) identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	template := &x509.Certificate{
		SerialNumber: serial, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	made := identity{cert: filepath.Join(t.TempDir(), "crt")}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encodedKey})
	if made.pair, err = tls.X509KeyPair(certificate, private); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(made.cert, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return made
}

// securely is a service that speaks TLS.
func securely(own identity) func() *service {
	return func() *service {
		return &service{tls: &tls.Config{Certificates: []tls.Certificate{own.pair}}}
	}
}

func (r k6Run) trusting(service identity) k6Run {
	r.variables["TLS"], r.variables["TLS_CA"] = "yes", service.cert
	return r
}

func TestTLSIsTheSameOnAllTransports(t *testing.T) {
	server := newIdentity(t)
	onAllTransports(t, securely(server), func(t *testing.T, service *service, load k6Run) {
		if strings.Contains(t.Name(), "grpc") {
			service.tls.NextProtos = []string{"h2"}
		}
		for _, connection := range []string{"keep", "reopen"} {
			service.connections.Store(0)
			load.variables["CONNECTION"] = connection
			got := load.trusting(server).run(t)
			got.expectOnly(t, "ok")
			if len(got.TLS) != 1 {
				t.Fatalf("want one agreement, got %+v", got.TLS)
			}
			agreed := got.TLS[0]
			if agreed.Version != "TLS 1.3" || agreed.KeyExchange != "X25519" || agreed.Resumed {
				t.Errorf("unexpected %+v", agreed)
			}
			if agreed.Handshakes != service.connections.Load() {
				t.Errorf("want a handshake for each of %d connections, got %d", service.connections.Load(), agreed.Handshakes)
			}
		}
	})
}

func TestFailedHandshakesSayWhy(t *testing.T) {
	server, stranger := newIdentity(t), newIdentity(t)
	onAllTransports(t, securely(server), func(t *testing.T, service *service, load k6Run) {
		load.variables["TIMEOUT_S"] = "0.5"
		if got := load.trusting(stranger).run(t); got.RequestsTotal["ok"] > 0 || !strings.Contains(got.errorText(), "x509") {
			t.Errorf("a certificate of another authority: got %v, %q", got.RequestsTotal, got.errorText())
		}
	})
}

func TestTLSWithAServiceInPlainTextSaysSo(t *testing.T) {
	own := newIdentity(t)
	onAllTransports(t, plain, func(t *testing.T, _ *service, load k6Run) {
		load.variables["TIMEOUT_S"] = "0.5"
		got := load.trusting(own).run(t)
		// The small socket service of these tests closes without a word.
		said := strings.Contains(got.errorText(), "TLS") || strings.Contains(got.errorText(), "closed the connection")
		if got.RequestsTotal["ok"] > 0 || !said {
			t.Errorf("want the reason, got %v, %q", got.RequestsTotal, got.errorText())
		}
	})
}
