package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-dev/leasehold/internal/lease"
)

// reply is an error that a server sent.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestErrorsAreSortedByWhetherTheScriptMayHaveRun(t *testing.T) {
	t.Parallel()
	dial := &dialError{&net.OpError{Op: "dial", Err: errors.New("connection refused")}}
	for name, tc := range map[string]struct {
		err  error
		want lease.Outcome
	}{
		"NOSCRIPT":                 {reply("NOSCRIPT No matching script. Please use EVAL."), lease.NotExecuted},
		"LOADING":                  {reply("LOADING Redis is loading the dataset in memory"), lease.NotExecuted},
		"READONLY":                 {reply("READONLY You can't write against a read only replica."), lease.NotExecuted},
		"READONLY by a proxy":      {reply("ERR READONLY You can't write against a read only replica."), lease.NotExecuted},
		"READONLY inside a script": {reply("ERR Error running script: @user_script:2: -READONLY"), lease.NotExecuted},
		"MASTERDOWN":               {reply("MASTERDOWN Link with MASTER is down."), lease.NotExecuted},
		"CLUSTERDOWN":              {reply("CLUSTERDOWN Hash slot not served"), lease.NotExecuted},
		"TRYAGAIN":                 {reply("TRYAGAIN Multiple keys request during rehashing of slot"), lease.NotExecuted},
		"MOVED":                    {reply("MOVED 3999 127.0.0.1:6381"), lease.NotExecuted},
		"ASK":                      {reply("ASK 3999 127.0.0.1:6381"), lease.NotExecuted},
		"NOREPLICAS":               {reply("NOREPLICAS Not enough good replicas to write."), lease.NotExecuted},
		"BUSY":                     {reply("BUSY Redis is busy running a script."), lease.NotExecuted},
		"OOM":                      {reply("OOM command not allowed when used memory > 'maxmemory'."), lease.NotExecuted},
		"MISCONF":                  {reply("MISCONF Redis is configured to save RDB snapshots"), lease.NotExecuted},
		"maxclients":               {reply("ERR max number of clients reached"), lease.NotExecuted},
		"NOAUTH":                   {reply("NOAUTH Authentication required."), lease.NotExecuted},
		"WRONGPASS":                {reply("WRONGPASS invalid username-password pair or user is disabled."), lease.NotExecuted},
		"NOPERM":                   {reply("NOPERM User x has no permissions to run the 'evalsha' command"), lease.NotExecuted},
		"WRONGTYPE":                {reply("WRONGTYPE Operation against a key holding the wrong kind of value"), lease.NotExecuted},
		"a server before 7.0":      {reply("ERR Error compiling script (new function): unexpected symbol near '#'"), lease.NotExecuted},
		"dial":                     {dial, lease.NotExecuted},
		"dial, wrapped":            {fmt.Errorf("pool: %w", dial), lease.NotExecuted},
		"pool timeout":             {goredis.ErrPoolTimeout, lease.NotExecuted},
		"read timeout":             {&net.OpError{Op: "read", Err: context.DeadlineExceeded}, lease.Unknown},
		"end of file":              {io.EOF, lease.Unknown},
		"cancelled":                {context.Canceled, lease.Unknown},
		"out of step":              {errShifted, lease.Unknown},
		"an answer nobody knows":   {reply("ERR something new"), lease.Unknown},
		"a text that is no answer": {errors.New("READONLY says somebody else"), lease.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := classify("redis.example:6379", tc.err)
			if got := lease.OutcomeOf(err); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if !errors.Is(err, tc.err) || !strings.Contains(err.Error(), "redis.example:6379") {
				t.Errorf("the error hides its cause or the address: %v", err)
			}
		})
	}
}

// TestTheProfileOfTheLibrary pins every option we rely on, so that a new version of the library with other defaults is seen.
func TestTheProfileOfTheLibrary(t *testing.T) {
	t.Parallel()
	client := newClient(Options{Address: "127.0.0.1:1", DB: 3})
	defer client.rdb.Close()
	o := client.rdb.(*goredis.Client).Options()
	got := map[string]any{
		"Addr": o.Addr, "DB": o.DB, "Protocol": o.Protocol, "MaxRetries": o.MaxRetries, "DialTimeout": o.DialTimeout,
		"DialerRetries": o.DialerRetries, "ReadTimeout": o.ReadTimeout, "WriteTimeout": o.WriteTimeout,
		"ContextTimeoutEnabled": o.ContextTimeoutEnabled, "PoolSize": o.PoolSize, "MinIdleConns": o.MinIdleConns,
		"PipelinePoolSize": o.PipelinePoolSize, "MaxActiveConns": o.MaxActiveConns, "PoolTimeout": o.PoolTimeout,
		"ConnMaxIdleTime": o.ConnMaxIdleTime, "ConnMaxLifetime": o.ConnMaxLifetime,
		"ConnMaxLifetimeJitter": o.ConnMaxLifetimeJitter, "DisableIdentity": o.DisableIdentity,
		"MaintNotifications": string(o.MaintNotificationsConfig.Mode), "Password": o.Password,
	}
	want := map[string]any{
		"Addr": "127.0.0.1:1", "DB": 3, "Protocol": 2, "MaxRetries": 0, "DialTimeout": time.Second,
		"DialerRetries": 1, "ReadTimeout": time.Second, "WriteTimeout": time.Second,
		"ContextTimeoutEnabled": true, "PoolSize": 8, "MinIdleConns": 2,
		"PipelinePoolSize": -1, "MaxActiveConns": 0, "PoolTimeout": 500 * time.Millisecond,
		"ConnMaxIdleTime": time.Duration(-1), "ConnMaxLifetime": 30 * time.Minute,
		"ConnMaxLifetimeJitter": 3 * time.Minute, "DisableIdentity": true,
		"MaintNotifications": "disabled", "Password": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The library appends to the addresses it is given, and the store has several clients of it.
func TestClientsWriteIntoNoMemoryThatOthersSee(t *testing.T) {
	t.Parallel()
	addresses := append(make([]string, 0, 8), "a:1", "b:1")
	options := Options{Cluster: addresses, Sentinel: &Sentinel{Addresses: addresses}}
	profile := options.profile(nil)
	for name, given := range map[string][]string{
		"Cluster": options.cluster(profile).Addrs, "Sentinel": options.failover(profile).SentinelAddrs,
	} {
		_ = append(given, "c:1")
		given[0] = name
		if got := addresses[:3]; got[0] != "a:1" || got[2] != "" {
			t.Errorf("%s: the options' own addresses became %q", name, got)
		}
	}
}

func FuzzAnyReplyIsReadWithoutHarm(f *testing.F) {
	for _, seed := range []string{
		"", "ok", "ok|", "ok|5", "ok|x", "busy", "busy|-1|", "busy|x|a|1", "clock|1", "overflow|2", "gone", "other|a|1",
	} {
		f.Add(seed)
	}
	store := &Store{address: "redis.example:6379"}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := store.granted("a/b", text)
		if (err == nil) != (token != 0) || token > lease.MaxToken {
			t.Errorf("granted %d, %v", token, err)
		}
		kept := store.kept("a/b", text, nil)
		if kept == nil && text != "ok" && !strings.HasPrefix(text, "ok|") {
			t.Errorf("%q is taken for a success", text)
		}
	})
}
