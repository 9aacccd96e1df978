package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

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
	want := redis.Options{Address: "redis:6380", Username: "operator", PasswordFile: "/run/password", DB: 3}
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
	want := redisOptions{address: "redis.leasehold-system.svc:6379"}
	if opts.redis != want || opts.metricsAddress != ":8080" || opts.healthAddress != ":8081" || opts.leaderElect {
		t.Errorf("options: %+v", opts)
	}
}

func TestTLSIsVerifiedAndModern(t *testing.T) {
	t.Parallel()
	opts, err := parse([]string{"--redis-tls"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if config := opts.redis.store().TLS; config == nil || config.InsecureSkipVerify || config.MinVersion < 0x0303 {
		t.Errorf("TLS: %+v", config)
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
