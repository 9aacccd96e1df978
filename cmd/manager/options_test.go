package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

func TestFlagsBecomeOptions(t *testing.T) {
	t.Parallel()
	opts, err := parse([]string{
		"--redis-address=redis:6380", "--redis-username=operator", "--redis-password-file=/run/password", "--redis-db=3",
		"--leader-elect", "--leader-election-namespace=ops", "--metrics-bind-address=0", "--health-probe-bind-address=:9",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := redis.Options{
		Address: "redis:6380", Username: "operator", PasswordFile: "/run/password", DB: 3, Unsafe: redis.Refuse,
		Replication: redis.Replication{Policy: redis.ReplicationOff},
	}
	if diff := cmp.Diff(want, opts.redis.store()); diff != "" {
		t.Errorf("Redis (-want +got):\n%s", diff)
	}
	if !opts.leaderElect || opts.leaderElectNS != "ops" || opts.metricsAddress != "0" || opts.healthAddress != ":9" {
		t.Errorf("options: %+v", opts)
	}
}

func TestDefaultsAreThoseOfTheManifests(t *testing.T) {
	t.Parallel()
	opts, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := redis.Options{
		Address: "redis.leasehold-system.svc:6379", Unsafe: redis.Refuse,
		Replication: redis.Replication{Policy: redis.ReplicationOff},
	}
	if diff := cmp.Diff(want, opts.redis.store()); diff != "" {
		t.Errorf("Redis (-want +got):\n%s", diff)
	}
	if opts.metricsAddress != ":8080" || opts.healthAddress != ":8081" || opts.leaderElect {
		t.Errorf("options: %+v", opts)
	}
}

func TestEachTopologyHasItsFlags(t *testing.T) {
	t.Parallel()
	plain := redis.Replication{Policy: redis.ReplicationOff}
	for name, tc := range map[string]struct {
		args []string
		want redis.Options
	}{
		"Sentinel": {
			[]string{"--redis-mode=sentinel", "--redis-address=a:1,b:2", "--redis-sentinel-master=leases"},
			redis.Options{Sentinel: &redis.Sentinel{Master: "leases", Addresses: []string{"a:1", "b:2"}}, Replication: plain},
		},
		"Cluster": {
			[]string{"--redis-mode=cluster", "--redis-address=a:1,b:2"},
			redis.Options{Cluster: []string{"a:1", "b:2"}, Replication: plain},
		},
		"replicas and TLS": {
			[]string{"--redis-address=a:1", "--redis-replication=require", "--redis-replicas=2", "--redis-tls",
				"--redis-tls-server-name=redis"},
			redis.Options{
				Address: "a:1", TLSFiles: &redis.TLSFiles{ServerName: "redis"},
				Replication: redis.Replication{Policy: redis.ReplicationRequire, Replicas: 2, Timeout: 100 * time.Millisecond},
			},
		},
		"a server that is not safe": {
			[]string{"--redis-address=a:1", "--redis-unsafe=degrade"},
			redis.Options{Address: "a:1", Unsafe: redis.Degrade, Replication: plain},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts, err := parse(tc.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want.Unsafe == "" {
				tc.want.Unsafe = redis.Refuse
			}
			if diff := cmp.Diff(tc.want, opts.redis.store()); diff != "" {
				t.Errorf("Redis (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlagsThatCannotBeUsedAreRefusedWithAHint(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an address without a port": {[]string{"--redis-address=redis"}, "--redis-address"},
		"a negative database":       {[]string{"--redis-db=-1"}, "--redis-db"},
		"a user without a password": {[]string{"--redis-username=operator"}, "--redis-password-file"},
		"a password as an argument": {[]string{"--redis-password=secret"}, "-redis-password"},
		"an argument":               {[]string{"start"}, "start"},
		"an unknown mode":           {[]string{"--redis-mode=ring"}, "--redis-mode"},
		"several of one":            {[]string{"--redis-address=a:1,b:2"}, "--redis-mode"},
		"Sentinels without a name":  {[]string{"--redis-mode=sentinel"}, "--redis-sentinel-master"},
		"a name without Sentinels":  {[]string{"--redis-sentinel-master=x"}, "--redis-mode sentinel"},
		"a Cluster with databases":  {[]string{"--redis-mode=cluster", "--redis-db=2"}, "database 0"},
		"files without TLS":         {[]string{"--redis-tls-ca-file=ca"}, "--redis-tls"},
		"half a certificate":        {[]string{"--redis-tls", "--redis-tls-cert-file=c"}, "--redis-tls-key-file"},
		"roots that are not there":  {[]string{"--redis-tls", "--redis-tls-ca-file=/nowhere/ca"}, "/nowhere/ca"},
		"an unknown policy":         {[]string{"--redis-unsafe=ignore"}, "--redis-unsafe"},
		"an unknown replication":    {[]string{"--redis-replication=all"}, "off, prefer or require"},
		"replication to nobody":     {[]string{"--redis-replication=prefer", "--redis-replicas=0"}, "1 to 100"},
		"replication that is late":  {[]string{"--redis-replication=prefer", "--redis-replication-timeout=1s"}, "500ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			if _, err := parse(tc.args, &said); err == nil {
				t.Fatal("the arguments are taken")
			}
			if !strings.Contains(said.String(), tc.want) {
				t.Errorf("what is said does not name %s:\n%s", tc.want, said.String())
			}
		})
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	if _, err := parse([]string{"--help"}, &said); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error: %v", err)
	}
	if !strings.Contains(said.String(), "-redis-address") {
		t.Errorf("the help:\n%s", said.String())
	}
}
