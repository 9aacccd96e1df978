package redis_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold-dev/leasehold/internal/lease"
	"github.com/leasehold-dev/leasehold/internal/lease/leasetest"
	"github.com/leasehold-dev/leasehold/internal/lease/redis"
)

// found runs the self-test of a store with one server and returns its findings.
func found(t *testing.T, store *redis.Store) []redis.Finding {
	t.Helper()
	report, err := store.SelfTest(t.Context())
	if err != nil || len(report.Nodes) != 1 {
		t.Fatalf("self-test: %+v, %v", report, err)
	}
	return report.Nodes[0].Findings
}

// codes are the codes of findings with their severities.
func codes(findings []redis.Finding) map[string]redis.Severity {
	all := map[string]redis.Severity{}
	for _, f := range findings {
		all[f.Code] = f.Severity
	}
	return all
}

func TestAServerWithAllThatLeasesNeedIsFoundFit(t *testing.T) {
	t.Parallel()
	address, _ := leasetest.StartRedis(t, "--appendonly", "yes")
	store, r := newStore(t, redis.Options{Address: address}), newRaw(t, address)
	if findings := found(t, store); len(findings) != 0 {
		t.Errorf("found %+v", findings)
	}
	if n, err := r.client.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("the self-test left %d keys, %v", n, err)
	}
	node := store.Health().Nodes[0]
	if node.Address != address || node.Refusal != nil || node.Report.RunID == "" || node.Report.Version == "" {
		t.Errorf("health: %+v", node)
	}
}

func TestEachSettingThatIsUnfitIsFoundAndMended(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args     []string
		want     map[string]redis.Severity
		says     string
		settings map[string]string // that mend it
	}{
		"leases are evicted": {
			args: []string{"--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"},
			want: map[string]redis.Severity{redis.CodeEvictionPolicy: redis.Unsafe},
			says: "CONFIG SET maxmemory-policy noeviction", settings: map[string]string{"maxmemory-policy": "noeviction"},
		},
		"keys with a time to live are evicted": {
			args: []string{"--appendonly", "yes", "--maxmemory-policy", "volatile-ttl"},
			want: map[string]redis.Severity{redis.CodeEvictionPolicy: redis.Unsafe},
			says: "maxmemory-policy is volatile-ttl", settings: map[string]string{"maxmemory-policy": "noeviction"},
		},
		"nothing is written to disk": {
			want: map[string]redis.Severity{redis.CodePersistence: redis.Advice},
			says: "CONFIG SET appendonly yes", settings: map[string]string{"appendonly": "yes"},
		},
		"no append-only file, and no snapshots either": {
			want: map[string]redis.Severity{redis.CodePersistence: redis.Advice},
			says: "no snapshots are made", settings: map[string]string{"save": "3600 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := leasetest.StartRedis(t, tc.args...)
			store, r := newStore(t, redis.Options{Address: address}), newRaw(t, address)
			findings := found(t, store)
			if diff := cmp.Diff(tc.want, codes(findings)); diff != "" || !strings.Contains(findings[0].Text, tc.says) {
				t.Errorf("findings (-want +got):\n%s%+v", diff, findings)
			}
			for setting, value := range tc.settings {
				r.must(r.client.ConfigSet(t.Context(), setting, value).Err())
			}
			if findings := found(t, store); len(findings) != 0 {
				t.Errorf("after it was mended: %+v", findings)
			}
		})
	}
}

func TestAnUnsafeServerGrantsNothingAndRenewsAndReleases(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	term := leasetest.MustAcquire(t, store, scope, ttl).Term
	r.must(r.client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lfu").Err())
	found(t, store)
	err := acquireErr(t, store, "another/scope")
	unsafe, isUnsafe := errors.AsType[*lease.UnsafeError](err)
	if !isUnsafe || unsafe.Code != redis.CodeEvictionPolicy || lease.OutcomeOf(err) != lease.NotExecuted {
		t.Errorf("acquire: %v", err)
	}
	if store.Health().Nodes[0].Refusal == nil {
		t.Error("the health tells of no refusal")
	}
	if err := errors.Join(store.Renew(t.Context(), leasetest.Renewals(ttl, term))...); err != nil {
		t.Errorf("renew: %v", err)
	}
	if err := store.Release(t.Context(), term); err != nil {
		t.Errorf("release: %v", err)
	}
	degraded := newStore(t, redis.Options{Address: store.Address(), Unsafe: redis.Degrade})
	if err := acquireErr(t, degraded, "another/scope"); err != nil || degraded.Health().Nodes[0].Refusal != nil {
		t.Errorf("where it is told to go on all the same: %v", err)
	}
	r.must(r.client.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	found(t, store)
	if err := acquireErr(t, store, "third/scope"); err != nil {
		t.Errorf("after it was mended: %v", err)
	}
}

func TestEvictionsBetweenTwoLooksAreUnsafe(t *testing.T) {
	t.Parallel()
	store, r, _ := startStore(t)
	found(t, store)
	if got := codes(found(t, store)); got[redis.CodeEvicting] != "" {
		t.Errorf("nothing was evicted: %v", got)
	}
	r.must(r.client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-random").Err())
	r.must(r.client.Set(t.Context(), "cache", strings.Repeat("x", 100_000), 0).Err())
	r.must(r.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_ = r.client.Set(t.Context(), "more", "x", 0).Err() // evicts, and may be refused all the same
	r.must(r.client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	r.must(r.client.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	if got := codes(found(t, store)); got[redis.CodeEvicting] != redis.Unsafe {
		t.Errorf("after evictions: %v", got)
	}
	if got := codes(found(t, store)); got[redis.CodeEvicting] != "" {
		t.Errorf("nothing more was evicted since: %v", got)
	}
}

func TestAReplicaAndAClusterNodeAreNamedAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	primary, _ := leasetest.StartRedis(t)
	host, port, _ := strings.Cut(primary, ":")
	for name, tc := range map[string]struct {
		args []string
		code string
		says string
	}{
		"a replica":             {[]string{"--replicaof", host + " " + port}, redis.CodeReplica, "replica of " + primary},
		"a node of a Cluster":   {[]string{"--cluster-enabled", "yes"}, redis.CodeCluster, "set the topology to cluster"},
		"a command was renamed": {[]string{"--rename-command", "SPUBLISH", "PUB"}, redis.CodeCommand, "command SPUBLISH is missing"},
		"a read was renamed":    {[]string{"--rename-command", "GETRANGE", ""}, redis.CodeCommand, "the command GETRANGE is missing"},
		"INFO was renamed":      {[]string{"--rename-command", "INFO", ""}, redis.CodeCommand, "the command INFO is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := leasetest.StartRedis(t, tc.args...)
			store := newStore(t, redis.Options{Address: address, Unsafe: redis.Degrade})
			findings := found(t, store)
			at := slices.IndexFunc(findings, func(f redis.Finding) bool { return f.Code == tc.code })
			if at < 0 || findings[at].Severity != redis.Fatal || !strings.Contains(findings[at].Text, tc.says) {
				t.Fatalf("found %+v", findings)
			}
			err := acquireErr(t, store, scope)
			if _, isUnsafe := errors.AsType[*lease.UnsafeError](err); !isUnsafe || lease.OutcomeOf(err) != lease.NotExecuted {
				t.Errorf("acquire: %v", err)
			}
		})
	}
}

func TestAPrimaryWithReplicasIsToldToRequireThem(t *testing.T) {
	t.Parallel()
	primary, _ := leasetest.StartRedis(t, "--appendonly", "yes", "--repl-diskless-sync-delay", "0")
	host, port, _ := strings.Cut(primary, ":")
	r := newRaw(t, primary)
	leasetest.StartRedis(t, "--replicaof", host+" "+port)
	waitForReplica(t, r)
	store := newStore(t, redis.Options{Address: primary})
	if diff := cmp.Diff(map[string]redis.Severity{redis.CodeMinReplicas: redis.Advice}, codes(found(t, store))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.must(r.client.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	if findings := found(t, store); len(findings) != 0 {
		t.Errorf("after it was mended: %+v", findings)
	}
}

// takenAway gives for each right of a user the rule that takes it away.
func takenAway(t *testing.T, all []string) map[string]string {
	t.Helper()
	missing := map[string]string{"~leasehold:*": "resetkeys", "&leasehold:*": "resetchannels"}
	for _, right := range all {
		command, isCommand := strings.CutPrefix(right, "+")
		if isCommand && !slices.Contains([]string{"ping", "select", "evalsha", "ssubscribe", "sunsubscribe"}, command) {
			missing[right] = "-" + command
		}
	}
	if len(missing) < 12 {
		t.Fatalf("only %d rights are tried: %v", len(missing), slices.Collect(maps.Keys(missing)))
	}
	return missing
}

func TestEachMissingRightIsNamed(t *testing.T) {
	t.Parallel()
	address, _ := leasetest.StartRedis(t)
	r := newRaw(t, address)
	all := strings.Fields(fenced(t, "acl")[0])
	for right, rule := range takenAway(t, all) {
		user := "lacks" + strings.Trim(right, "+~&*:")
		if strings.HasPrefix(right, "&") {
			user += "channel"
		}
		set := []any{"ACL", "SETUSER", user, "on", "nopass"}
		for _, granted := range all {
			set = append(set, granted)
		}
		r.must(r.client.Do(t.Context(), append(set, rule)...).Err())
		store := newStore(t, redis.Options{Address: address, Username: user, PasswordFile: passwordFile(t, "any")})
		findings := found(t, store)
		last := findings[len(findings)-1]
		if last.Code != redis.CodeRight || last.Severity != redis.Fatal ||
			!strings.Contains(last.Text, "run ACL SETUSER "+user+" "+right) {
			t.Errorf("without %s: %+v", right, findings)
		}
		if n := len(findings); n > 3 {
			t.Errorf("without %s there are %d findings: %+v", right, n, findings)
		}
	}
}
