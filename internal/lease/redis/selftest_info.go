package redis

import (
	"fmt"
	"strconv"
	"strings"
)

// oldestMajor is the first Redis with functions in which a script says by its first line what it may do.
const oldestMajor = 7

// facts is what INFO tells, field by field.
type facts map[string]string

func parseInfo(text string) facts {
	f := facts{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found && !strings.HasPrefix(name, "#") {
			f[name] = value
		}
	}
	return f
}

// number reads a field; 0 if it is missing or no number.
func (f facts) number(name string) int64 {
	n, err := strconv.ParseInt(f[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// kind names the program and its version, and the version of Redis that it stands for.
func (f facts) kind() (name, redisVersion string) {
	version := f["redis_version"]
	switch {
	case f["valkey_version"] != "":
		return "valkey " + f["valkey_version"], version
	case f["dragonfly_version"] != "":
		return "dragonfly " + f["dragonfly_version"], version
	case f["mvcc_depth"] != "" || f["role"] == "active-replica":
		return "keydb " + version, version
	case version == "":
		return "", ""
	}
	return "redis " + version, version
}

// expectations are what a node is compared with.
type expectations struct {
	// cluster: the node is to be one of a Redis Cluster.
	cluster bool
	// before is the last report on the node.
	before NodeReport
	// save is the configured snapshots, and saveKnown whether the user may see it.
	save      string
	saveKnown bool
}

// judge compares what INFO tells with what leases need.
func (f facts) judge(want expectations) []Finding {
	var found []Finding
	for _, look := range []func(expectations) *Finding{
		f.version, f.activeReplica, f.dragonfly, f.replica, f.cluster, f.eviction, f.evicting, f.persistence, f.minReplicas,
	} {
		if finding := look(want); finding != nil {
			found = append(found, *finding)
		}
	}
	return found
}

func (f facts) version(expectations) *Finding {
	name, version := f.kind()
	if version == "" {
		return &Finding{CodeInfoUnreadable, Advice, "INFO tells no redis_version, so neither version nor settings of this server are" +
			" known; is a proxy in between? Connect to Redis itself, or make sure by hand that it is Redis 7.0 or newer with" +
			" maxmemory-policy noeviction"}
	}
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n >= oldestMajor {
		return nil
	}
	return &Finding{CodeVersion, Fatal, fmt.Sprintf("this is %s: the scripts of leases need Redis 7.0 or newer, or a Valkey;"+
		" install one", name)}
}

func (f facts) activeReplica(expectations) *Finding {
	if f["role"] != "active-replica" {
		return nil
	}
	return &Finding{CodeActiveReplica, Fatal, "this is a KeyDB active replica: two of them grant the same lease at the same time;" +
		" set active-replica no, or use Redis or Valkey with one primary"}
}

func (f facts) dragonfly(expectations) *Finding {
	if f["dragonfly_version"] == "" {
		return nil
	}
	return &Finding{CodeDragonfly, Advice, "this is a Dragonfly, with which leases are not tested; use Redis or Valkey"}
}

func (f facts) replica(expectations) *Finding {
	if f["role"] != "slave" {
		return nil
	}
	return &Finding{CodeReplica, Fatal, fmt.Sprintf("this is a replica of %s:%s, and takes no writes; connect to the primary,"+
		" or let Sentinel say which one that is", f["master_host"], f["master_port"])}
}

func (f facts) cluster(want expectations) *Finding {
	enabled, told := f["cluster_enabled"]
	switch {
	case !told || (enabled == "1") == want.cluster:
		return nil
	case want.cluster:
		return &Finding{CodeCluster, Fatal, "this server is no node of a Redis Cluster, and a Cluster is configured; set the" +
			" topology to standalone or sentinel, or connect to the Cluster"}
	}
	return &Finding{CodeCluster, Fatal, "this server is a node of a Redis Cluster, and none is configured: it refuses every lease" +
		" whose slot another node has; set the topology to cluster"}
}

func (f facts) eviction(expectations) *Finding {
	policy := f["maxmemory_policy"]
	if policy == "" || policy == "noeviction" {
		return nil
	}
	return &Finding{CodeEvictionPolicy, Unsafe, fmt.Sprintf("maxmemory-policy is %s: when its memory is full, Redis removes leases"+
		" that are held, and two can hold one; run CONFIG SET maxmemory-policy noeviction and write the same into its"+
		" configuration, and give other data that may be evicted a Redis of its own", policy)}
}

func (f facts) evicting(want expectations) *Finding {
	now, before := f.number("evicted_keys"), want.before
	if before.At.IsZero() || before.RunID != f["run_id"] || now <= before.evicted {
		return nil
	}
	return &Finding{CodeEvicting, Unsafe, fmt.Sprintf("Redis removed %d keys for want of memory since the last look, and leases can"+
		" be among them; run CONFIG SET maxmemory-policy noeviction, and raise maxmemory", now-before.evicted)}
}

func (f facts) persistence(want expectations) *Finding {
	aof, told := f["aof_enabled"]
	if !told || aof == "1" || want.saveKnown && want.save != "" {
		return nil
	}
	snapshots := "and no snapshots are made"
	if !want.saveKnown {
		snapshots = "and whether snapshots are made cannot be seen without the right +config|get"
	}
	return &Finding{CodePersistence, Advice, "appendonly is off, " + snapshots + ": after a restart leases are quarantined, and" +
		" completions are forgotten; run CONFIG SET appendonly yes and write the same into its configuration"}
}

func (f facts) minReplicas(expectations) *Finding {
	// The field is there only if both settings are.
	if _, set := f["min_slaves_good_slaves"]; set || f.number("connected_slaves") == 0 {
		return nil
	}
	return &Finding{CodeMinReplicas, Advice, "min-replicas-to-write is 0: a primary that is cut off from its replicas goes on" +
		" renewing leases that its successor grants again; run CONFIG SET min-replicas-to-write 1 and CONFIG SET min-replicas-max-lag" +
		" 10, and write the same into its configuration"}
}
