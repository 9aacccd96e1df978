# Names, places and small words that every part uses.
# shellcheck shell=bash

# One cluster per machine: these names are fixed, so that what is left of a killed cluster can be found without its records.
node_name=leasehold
bridge=leasehold0
cgroup=leasehold
nft_table=leasehold
firewall_comment=leasehold-cluster
machine_dir=/run/leasehold-cluster
marker=LEASEHOLD_CLUSTER_PROCESS_OF

# Addresses. Ports are not Kubernetes's usual ones, to stay out of the way of another cluster on the machine, and lie below
# the range from which the kernel takes ports for connections.
pod_range=10.213.0.0/22
bridge_address=10.213.0.1
bridge_bits=22
service_range=10.213.16.0/20
service_api=10.213.16.1
dns_domain=cluster.local
api_port=16443
etcd_port=12379
etcd_peer_port=12380
kubelet_port=20250
kubelet_health_port=20248
kcm_port=20257
scheduler_port=20259
proxy_health_port=20256
proxy_metrics_port=20249

cache="${LEASEHOLD_CLUSTER_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/leasehold}"

# A socket's path holds 107 bytes, and the longest below the state folder takes 36 of them.
state="${LEASEHOLD_CLUSTER_DIR:-$repo/.cluster}"
case $state in /*) ;; *) state="$PWD/$state" ;; esac
if [ ${#state} -gt 70 ]; then
	state="/var/tmp/leasehold-cluster-$(printf '%s' "$state" | sha256sum | cut -c1-12)"
fi
logs="$state/logs"
audit_log="$logs/audit.log"
kubeconfig="$state/kubeconfig"

say() { printf 'cluster: %s\n' "$*" >&2; }
fail() {
	printf 'cluster: error: %s\n' "$*" >&2
	exit 1
}

need_command() {
	command -v "$1" >/dev/null 2>&1 || fail "$1 is not installed: $2"
}

# show_log FILE [LINES]: the end of a log and where it is. Long lines are cut: goroutine dumps and flags fill screens.
show_log() {
	local file=$1 lines=${2:-15}
	[ -f "$file" ] || return 0
	printf -- '--- the last lines of %s\n' "$file" >&2
	tail -n "$lines" "$file" | cut -c1-300 >&2
}

# wait_for SECONDS WHAT PART COMMAND...: runs COMMAND until it succeeds. At the end of the time, or when the part it waits
# for has died, shows the part's log and fails.
wait_for() {
	local limit=$((SECONDS + $1)) what=$2 part=$3
	shift 3
	until "$@" >/dev/null 2>&1; do
		if ! part_pid "$part" >/dev/null; then
			show_log "$logs/$part.log" 20
			fail "$part ended by itself before this came true: $what. Its log is above"
		fi
		if [ $SECONDS -ge $limit ]; then
			show_log "$logs/$part.log" 20
			fail "this did not come true in time: $what. The logs are in $logs; hack/cluster/cluster down cleans up"
		fi
		sleep 0.2
	done
}
