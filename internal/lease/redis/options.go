package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Budgets of one request. They bound how long a request can take apart from its context: a dial and an exchange each.
const (
	// dialTimeout bounds one attempt to connect, TLS included; there is only one.
	dialTimeout = time.Second
	// ioTimeout bounds one write and one read. Shorter ones close connections under load; longer ones eat the lease.
	ioTimeout = time.Second
	// poolTimeout bounds the wait for a free connection.
	poolTimeout = 500 * time.Millisecond
	// idle connections are kept; a live one is replaced after this long, so that rotated credentials come into force.
	connLifetime = 30 * time.Minute
)

// ProbeInterval is how long the library's pool waits between two attempts to connect, once as many as it may hold have failed
// in a row; until one succeeds it refuses every request by itself. It is fixed in the library, and keeps thousands of leases
// from dialling at once; a Redis that is back is found that much later.
const ProbeInterval = time.Second

// Options name a Redis and how to log in. No secret is held in them: the password is read from its file for every new
// connection, so a rotated password needs no restart.
type Options struct {
	// Address is host:port of a single Redis; it is not used with Sentinel or Cluster.
	Address string
	// Sentinel finds the primary; nil: there is none.
	Sentinel *Sentinel
	// Cluster has the addresses of some nodes of a Redis Cluster, host:port; empty: it is none.
	Cluster []string
	// Replication says whether a lease must reach replicas before it counts as granted.
	Replication Replication
	// Username is the ACL user; empty: "default".
	Username string
	// PasswordFile holds the password; empty: none. A file that does not exist means no password as well, since it comes from
	// an optional Secret.
	PasswordFile string
	// DB is the number of the logical database, from 0.
	DB int
	// TLS is nil for a plain connection, unless TLSFiles is given.
	TLS *tls.Config
	// TLSFiles say how to speak TLS by files; nil: TLS says it.
	TLSFiles *TLSFiles
	// Unsafe says what is done about a server on which a lease can be lost; empty: Refuse.
	Unsafe Policy
}

// profile is the go-redis configuration for leases. Nearly every default of the library is wrong here: it would run a script
// up to four times after lost replies, ignore the context's deadline, and wait up to 10 s during maintenance.
func (o Options) profile(dial dialer) *goredis.Options {
	return &goredis.Options{
		Addr:                       o.Address,
		DB:                         o.DB,
		Protocol:                   2,
		Dialer:                     dial,
		CredentialsProviderContext: o.credentials,
		MaxRetries:                 -1,
		DialTimeout:                dialTimeout,
		DialerRetries:              1,
		ReadTimeout:                ioTimeout,
		WriteTimeout:               ioTimeout,
		ContextTimeoutEnabled:      true,
		PoolSize:                   8,
		MinIdleConns:               2,
		PipelinePoolSize:           -1,
		PoolTimeout:                poolTimeout,
		ConnMaxIdleTime:            -1,
		ConnMaxLifetime:            connLifetime,
		ConnMaxLifetimeJitter:      connLifetime / 10,
		DisableIdentity:            true,
		MaintNotificationsConfig:   &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// credentials reads the password anew for each connection.
func (o Options) credentials(context.Context) (username, password string, err error) {
	password, err = readPassword(o.PasswordFile)
	if err != nil {
		return "", "", &dialError{err}
	}
	return o.Username, password, nil
}

// readPassword reads a file that holds a password; a file that does not exist holds none.
func readPassword(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	content, err := os.ReadFile(filepath.Clean(file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the password of Redis could not be read: %w", err)
	}
	return strings.TrimRight(string(content), "\r\n"), nil
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// dialError marks a failure to connect or to find out how to log in: no request was sent.
type dialError struct{ cause error }

func (e *dialError) Error() string { return e.cause.Error() }
func (e *dialError) Unwrap() error { return e.cause }

// dial connects within dialTimeout, TLS handshake included; the library's own TLS dialer ignores the context.
func (o Options) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	config, err := o.tls()
	if err != nil {
		return nil, &dialError{err}
	}
	var conn net.Conn
	if plain := (&net.Dialer{KeepAlive: 30 * time.Second}); config == nil {
		conn, err = plain.DialContext(ctx, network, address)
	} else {
		conn, err = (&tls.Dialer{NetDialer: plain, Config: config}).DialContext(ctx, network, address)
	}
	if err != nil {
		return nil, &dialError{err}
	}
	return conn, nil
}

// tls is the configuration for a new connection; nil for a plain one.
func (o Options) tls() (*tls.Config, error) {
	if o.TLSFiles == nil {
		return o.TLS, nil
	}
	return o.TLSFiles.config()
}
