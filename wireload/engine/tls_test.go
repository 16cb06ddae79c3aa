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

func TestFailuresOfTLS(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	for what, handle := range map[string]func(net.Conn){
		"not trusted": func(c net.Conn) { _ = tls.Server(c, server.TLS).Handshake() },
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
