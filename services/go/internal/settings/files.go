package settings

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

const storeURLVariable = environmentPrefix + "STORE_URL"

// With TLS 1.2 only forward secrecy and authenticated encryption (RFC 9325, 4.2); TLS 1.3 has nothing else.
var cipherSuites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// readStoreURL returns the URL that a file or the environment holds. Errors don't quote it: it holds a password.
func readStoreURL(file string) (string, error) {
	source, text := storeURLVariable, os.Getenv(storeURLVariable)
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--store-url-file: %w", err)
		}
		source, text = file, strings.TrimSpace(string(content))
	}
	if text == "" {
		return "", fmt.Errorf("the store postgres needs a URL: set %s=postgresql://USER:PASSWORD@HOST:PORT/DATABASE, "+
			"or name a file that holds it with --store-url-file", storeURLVariable)
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "postgresql" && parsed.Scheme != "postgres" || len(parsed.Path) < len("/x") {
		return "", fmt.Errorf("%s: is no URL of the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE", source)
	}
	return text, nil
}

// loadTLS returns the configuration of PEM files, or nil without them.
func loadTLS(certFile, keyFile, clientCAFile string) (*tls.Config, error) {
	if certFile == "" && keyFile == "" && clientCAFile == "" {
		return nil, nil
	}
	if certFile == "" || keyFile == "" {
		return nil, errors.New("--tls-cert, --tls-key and --tls-client-ca: TLS needs --tls-cert and --tls-key; name both")
	}
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", certFile, keyFile, err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, CipherSuites: cipherSuites,
	}
	if clientCAFile == "" {
		return config, nil
	}
	content, err := os.ReadFile(clientCAFile)
	if err != nil {
		return nil, fmt.Errorf("--tls-client-ca: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("--tls-client-ca: %s holds no certificate in PEM form; name one that does", clientCAFile)
	}
	return config, nil
}
