package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// The ways in which a Redis is set up.
const (
	modeStandalone = "standalone"
	modeSentinel   = "sentinel"
	modeCluster    = "cluster"
)

// redisOptions say where Redis is and how to enter. A password is never a flag: arguments are public on a machine.
type redisOptions struct {
	mode, addresses               string
	username, passwordFile        string
	master                        string
	sentinelUser, sentinelPwdFile string
	db                            int
	tls                           bool
	tlsFiles                      redis.TLSFiles
	unsafe                        string
	replication                   string
	replicas                      int
	replicationTimeout            time.Duration
}

func (o *redisOptions) register(flags *flag.FlagSet) {
	flags.StringVar(&o.mode, "redis-mode", modeStandalone, "how Redis is set up: standalone, sentinel or cluster")
	flags.StringVar(&o.addresses, "redis-address", "redis.leasehold-system.svc:6379",
		"host:port of the Redis that holds the leases; of the Sentinels, or of some nodes of the Cluster, separated by commas")
	flags.StringVar(&o.master, "redis-sentinel-master", "", "name by which the Sentinels know the primary")
	flags.StringVar(&o.sentinelUser, "redis-sentinel-username", "", "ACL user of the Sentinels; empty for the default user")
	flags.StringVar(&o.sentinelPwdFile, "redis-sentinel-password-file", "",
		"file with the password for the Sentinels; a missing or empty file means none")
	flags.StringVar(&o.username, "redis-username", "", "ACL user in Redis; empty for the default user")
	flags.StringVar(&o.passwordFile, "redis-password-file", "",
		"file with the password for Redis, read for each new connection; a missing or empty file means none")
	flags.IntVar(&o.db, "redis-db", 0, "number of the database in Redis; every program that shares the leases uses the same")
	o.registerTLS(flags)
	flags.StringVar(&o.unsafe, "redis-unsafe", string(redis.Refuse),
		"what to do about a Redis on which a lease can be lost, such as one that evicts keys: refuse to grant leases, or degrade")
	flags.StringVar(&o.replication, "redis-replication", string(redis.ReplicationOff),
		"whether a lease must reach replicas before it counts as granted: off, prefer (grant all the same) or require")
	flags.IntVar(&o.replicas, "redis-replicas", 1, "how many replicas must confirm a lease")
	flags.DurationVar(&o.replicationTimeout, "redis-replication-timeout", 100*time.Millisecond,
		"how long replicas have to confirm a lease, 1ms to 500ms")
}

func (o *redisOptions) registerTLS(flags *flag.FlagSet) {
	flags.BoolVar(&o.tls, "redis-tls", false, "speak TLS with Redis and check its certificate")
	flags.StringVar(&o.tlsFiles.CA, "redis-tls-ca-file", "",
		"file with the certificates that sign Redis's, in PEM; empty for the system's roots")
	flags.StringVar(&o.tlsFiles.Cert, "redis-tls-cert-file", "", "file with the certificate shown to Redis, in PEM")
	flags.StringVar(&o.tlsFiles.Key, "redis-tls-key-file", "", "file with the key of that certificate, in PEM")
	flags.StringVar(&o.tlsFiles.ServerName, "redis-tls-server-name", "",
		"name in Redis's certificate; empty for the host of the address")
}

func (o *redisOptions) validate() error {
	if err := errors.Join(o.validateMode(), o.validateEntrance()); err != nil {
		return err
	}
	if err := o.store().Validate(); err != nil {
		return fmt.Errorf("--redis-address or a flag beside it: %w", err)
	}
	return nil
}

// validateMode checks what belongs to one way of setting up Redis.
func (o *redisOptions) validateMode() error {
	switch {
	case !slices.Contains([]string{modeStandalone, modeSentinel, modeCluster}, o.mode):
		return fmt.Errorf("--redis-mode %q: it must be standalone, sentinel or cluster", o.mode)
	case o.mode == modeStandalone && strings.Contains(o.addresses, ","):
		return fmt.Errorf("--redis-address %q names several: a standalone Redis has one address; is --redis-mode missing?", o.addresses)
	case o.mode == modeSentinel && o.master == "":
		return errors.New("--redis-mode sentinel needs --redis-sentinel-master")
	case o.mode != modeSentinel && o.master != "":
		return errors.New("--redis-sentinel-master needs --redis-mode sentinel")
	case o.db < 0:
		return fmt.Errorf("--redis-db %d is below 0", o.db)
	}
	return nil
}

// validateEntrance checks how Redis is entered and what is asked of it.
func (o *redisOptions) validateEntrance() error {
	switch {
	case o.username != "" && o.passwordFile == "":
		return errors.New("--redis-username needs --redis-password-file")
	case !o.tls && o.tlsFiles != (redis.TLSFiles{}):
		return errors.New("files and names for TLS are given without --redis-tls")
	case (o.tlsFiles.Cert == "") != (o.tlsFiles.Key == ""):
		return errors.New("--redis-tls-cert-file and --redis-tls-key-file need each other")
	case !slices.Contains([]redis.Policy{redis.Refuse, redis.Degrade}, redis.Policy(o.unsafe)):
		return fmt.Errorf("--redis-unsafe %q: it must be refuse or degrade", o.unsafe)
	}
	return nil
}

// store makes the store's options of the flags.
func (o *redisOptions) store() redis.Options {
	opts := redis.Options{
		Username: o.username, PasswordFile: o.passwordFile, DB: o.db, Unsafe: redis.Policy(o.unsafe),
		Replication: redis.Replication{Policy: redis.ReplicationPolicy(o.replication)},
	}
	if opts.Replication.Policy != redis.ReplicationOff {
		opts.Replication.Replicas, opts.Replication.Timeout = o.replicas, o.replicationTimeout
	}
	if o.tls {
		opts.TLSFiles = &o.tlsFiles
	}
	switch addresses := strings.Split(o.addresses, ","); o.mode {
	case modeSentinel:
		opts.Sentinel = &redis.Sentinel{
			Master: o.master, Addresses: addresses, Username: o.sentinelUser, PasswordFile: o.sentinelPwdFile,
		}
	case modeCluster:
		opts.Cluster = addresses
	default:
		opts.Address = o.addresses
	}
	return opts
}
