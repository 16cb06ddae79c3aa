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

// identity is a certificate that is its own authority, for both ends of loopback.
type identity struct {
	pair      tls.Certificate
	pool      *x509.CertPool
	cert, key string // PEM files.
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
	made := identity{pool: x509.NewCertPool(), cert: filepath.Join(t.TempDir(), "crt"), key: filepath.Join(t.TempDir(), "key")}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encodedKey})
	if made.pair, err = tls.X509KeyPair(certificate, private); err != nil {
		t.Fatal(err)
	}
	made.pool.AppendCertsFromPEM(certificate)
	for path, content := range map[string][]byte{made.cert: certificate, made.key: private} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// securely is a service that speaks TLS, and asks for certificates of these clients.
func securely(own identity, clients identity) func() *service {
	return func() *service {
		return &service{tls: &tls.Config{
			Certificates: []tls.Certificate{own.pair},
			ClientAuth:   tls.RequireAndVerifyClientCert,
			ClientCAs:    clients.pool,
		}}
	}
}

func (r k6Run) trusting(service identity, own identity) k6Run {
	for name, value := range map[string]string{
		"TLS": "yes", "TLS_CA": service.cert, "TLS_CERT": own.cert, "TLS_KEY": own.key,
	} {
		r.variables[name] = value
	}
	return r
}

func TestTLSIsTheSameOnAllTransports(t *testing.T) {
	server, client := newIdentity(t), newIdentity(t)
	onAllTransports(t, securely(server, client), func(t *testing.T, service *service, load k6Run) {
		if strings.Contains(t.Name(), "grpc") {
			service.tls.NextProtos = []string{"h2"}
		}
		for _, connection := range []string{"keep", "reopen"} {
			service.connections.Store(0)
			load.variables["CONNECTION"] = connection
			got := load.trusting(server, client).run(t)
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
	server, client, stranger := newIdentity(t), newIdentity(t), newIdentity(t)
	onAllTransports(t, securely(server, client), func(t *testing.T, service *service, load k6Run) {
		load.variables["TIMEOUT_S"] = "0.5"
		if got := load.trusting(stranger, client).run(t); got.RequestsTotal["ok"] > 0 || !strings.Contains(got.errorText(), "x509") {
			t.Errorf("a certificate of another authority: got %v, %q", got.RequestsTotal, got.errorText())
		}
		got := load.trusting(server, stranger).run(t)
		if got.RequestsTotal["ok"] > 0 || got.errorText() == "" {
			t.Errorf("a client that the service doesn't know: got %v, %q", got.RequestsTotal, got.errorText())
		}
	})
}

func TestTLSWithAServiceInPlainTextSaysSo(t *testing.T) {
	own := newIdentity(t)
	onAllTransports(t, plain, func(t *testing.T, _ *service, load k6Run) {
		load.variables["TIMEOUT_S"] = "0.5"
		got := load.trusting(own, own).run(t)
		// The small socket service of these tests closes without a word.
		said := strings.Contains(got.errorText(), "TLS") || strings.Contains(got.errorText(), "closed the connection")
		if got.RequestsTotal["ok"] > 0 || !said {
			t.Errorf("want the reason, got %v, %q", got.RequestsTotal, got.errorText())
		}
	})
}

func TestAKeyWithoutItsCertificateIsOneClearLine(t *testing.T) {
	load := k6Run{script: "../rest.js", warmup: "0", window: "1", variables: map[string]string{"TLS": "yes", "TLS_KEY": newIdentity(t).key}}
	if got := load.fails(t); !strings.Contains(got, "TLS_CERT and TLS_KEY go together") {
		t.Errorf("want what is missing, got %q", got)
	}
}
