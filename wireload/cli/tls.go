package cli

import (
	"crypto/tls"
	"fmt"
	"os"

	"wirebench.dev/wireload/secure"
)

// readTLS returns how connections are made that trust the authorities in a PEM file; without it, those of the system.
func readTLS(authority string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var authorities []byte
	if authority != "" {
		var err error
		if authorities, err = os.ReadFile(authority); err != nil {
			return nil, err
		}
		if len(authorities) == 0 { // The system's would be trusted instead.
			return nil, fmt.Errorf("%s: there is no certificate in PEM form to trust", authority)
		}
	}
	if err := secure.Prepare(config, authorities); err != nil {
		return nil, fmt.Errorf("%s: %w", authority, err)
	}
	return config, nil
}
