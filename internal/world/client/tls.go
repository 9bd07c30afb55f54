//go:build !js

package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Config is t for the connection; nil where t is nil.
func (t *TLS) Config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	c := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CA == "" {
		return c, nil
	}
	text, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, fmt.Errorf("failed to read the certificates to trust: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%q holds no certificate", t.CA)
	}
	return c, nil
}
