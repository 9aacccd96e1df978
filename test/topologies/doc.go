// Package topologies proves the lease on a primary behind Redis Sentinel and on a Redis Cluster: on real servers, that are
// killed, stopped, cut off and promoted, while leases are renewed. Its tests run with
//
//	make test-redis-topologies
//
// which needs Debian's redis-server, or another that LEASEHOLD_REDIS_SERVER names. Every server runs on a loopback port and in a
// directory of its own, and ends with its test. What a failover costs is logged: how long no renewal came through, and how many
// were not executed or unknown.
package topologies
