package platform

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// With TLS 1.2 only what has forward secrecy and authenticated encryption (RFC 9325, 4.2); TLS 1.3 has nothing else.
var ciphers = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// loadTLS returns what PEM files are good for, or nil without them; with authorities, clients need a certificate that one
// of them has signed. An error names the option and the next step.
func loadTLS(chainFile, keyFile, authoritiesFile string, protocols []string) (*tls.Config, error) {
	switch {
	case chainFile == "" && keyFile == "" && authoritiesFile != "":
		return nil, errors.New("--tls-client-ca needs --tls-cert and --tls-key: name all three")
	case chainFile == "" && keyFile == "":
		return nil, nil
	case keyFile == "":
		return nil, unpaired("--tls-cert", "--tls-key")
	case chainFile == "":
		return nil, unpaired("--tls-key", "--tls-cert")
	}
	chain, err := readPEM("--tls-cert", chainFile)
	if err != nil {
		return nil, err
	}
	key, err := readPEM("--tls-key", keyFile)
	if err != nil {
		return nil, err
	}
	if err := checkCertificate(chain, chainFile); err != nil {
		return nil, err
	}
	if err := checkKey(key, keyFile); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(chain, key)
	switch {
	case err == nil:
		made := &tls.Config{
			Certificates: []tls.Certificate{pair},
			MinVersion:   tls.VersionTLS12,
			CipherSuites: ciphers,
			NextProtos:   protocols,
		}
		return made, askClients(made, authoritiesFile)
	case strings.Contains(err.Error(), "does not match"):
		return nil, fmt.Errorf("--tls-key: %s isn't the key of the first certificate in %s; name its key", keyFile, chainFile)
	default:
		return nil, fmt.Errorf("--tls-cert and --tls-key: %s and %s can't be used: %w; name another pair", chainFile, keyFile, err)
	}
}

func unpaired(given, missing string) error {
	return fmt.Errorf("%s needs %s: name both, or none of them for plain text", given, missing)
}

func readPEM(option, path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: can't read %s: %s; name a PEM file that this user may read", option, path, reason(err))
	}
	return content, nil
}

// checkCertificate sees that the first certificate is one, with a key of a kind that all runtimes and drivers can use.
func checkCertificate(content []byte, path string) error {
	first := firstCertificate(content)
	if first == nil {
		return fmt.Errorf("--tls-cert: %s holds no certificate in PEM form; name one that does", path)
	}
	parsed, err := x509.ParseCertificate(first.Bytes)
	if err == nil && isCommon(parsed.PublicKey) {
		return nil
	}
	return fmt.Errorf("--tls-cert: the key of the first certificate in %s is neither RSA nor EC on P-256 or P-384; "+
		"name a certificate with such a key, which all transports can use", path)
}

func isCommon(key any) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return true
	case *ecdsa.PublicKey:
		return key.Curve == elliptic.P256() || key.Curve == elliptic.P384()
	}
	return false
}

func firstCertificate(content []byte) *pem.Block {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return block
		}
	}
	return nil
}

// askClients has clients refused without a certificate of these authorities, if there are any.
func askClients(config *tls.Config, path string) error {
	if path == "" {
		return nil
	}
	content, err := readPEM("--tls-client-ca", path)
	if err != nil {
		return err
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(content) {
		return fmt.Errorf("--tls-client-ca: %s holds no certificate in PEM form; name one that does", path)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return nil
}

func checkKey(content []byte, path string) error {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasPrefix(block.Type, "ENCRYPTED ") || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return fmt.Errorf("--tls-key: the key in %s is encrypted; name one that isn't (openssl pkey -in %s -out PLAIN.pem)", path, path)
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return nil
		}
	}
	return fmt.Errorf("--tls-key: %s holds no private key in PEM form; name one that does", path)
}
