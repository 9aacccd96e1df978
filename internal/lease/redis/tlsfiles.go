package redis

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLSFiles say how to speak TLS by files, which are read for every new connection: rotated ones need no restart. TLS is 1.2 or
// newer, and the server's name is checked.
type TLSFiles struct {
	// CA holds the certificates that sign the server's, in PEM; empty: the system's.
	CA string
	// Cert and Key are the client's, in PEM; both empty: the client shows none.
	Cert, Key string
	// ServerName is the name in the server's certificate; empty: the host of the address.
	ServerName string
}

// config reads the files.
func (f TLSFiles) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("the certificates that sign Redis's could not be read: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", f.CA)
		}
	}
	if f.Cert != "" || f.Key != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("the client's certificate for Redis could not be read: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
