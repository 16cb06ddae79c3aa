package engine

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

// certify returns a certificate, and what trusts it.
func certify(t *testing.T) (tls.Certificate, *x509.CertPool) {
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	return server.TLS.Certificates[0], trusted
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
			measured := measure(t, load)
			if measured.RequestsTotal[histogram.OK] != 20 {
				t.Errorf("want 20 successes, got %v: %v", measured.RequestsTotal, measured.Errors)
			}
		})
	}
}

func TestFailuresOfTLS(t *testing.T) {
	certificate, _ := certify(t)
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	for what, handle := range map[string]func(net.Conn){
		"not trusted": secured(config, func(net.Conn) {}),
		"plain":       func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) },
	} {
		for name, p := range protocols {
			t.Run(what+"/"+name, func(t *testing.T) {
				load := p.load(transporttest.Serve(t, handle), time.Minute)
				load.Calls, load.TLS = 20, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
				measured := measure(t, load)
				// Whether the reset of what the server didn't read overtakes its words is the kernel's business.
				if measured.RequestsTotal[histogram.OK] != 0 || measured.ErrorClasses[string(transport.TLS)] == 0 {
					t.Errorf("want failures of TLS, got %v: %v", measured.ErrorClasses, measured.Errors)
				}
			})
		}
	}
}
