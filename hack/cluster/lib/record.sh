# What the machine has to remember beside the processes themselves: which folder the last cluster was started from, and the
# kernel settings from before it. It is written for cleaning up and never believed: whether a cluster lives is asked of its
# processes (process.sh).
# shellcheck shell=bash

# Kernel settings that the kubelet, kube-proxy or the pods' network change.
kernel_settings=(net.ipv4.ip_forward net.ipv4.conf.all.route_localnet vm.overcommit_memory vm.panic_on_oom kernel.panic
	kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes net.netfilter.nf_conntrack_max
	net.netfilter.nf_conntrack_tcp_timeout_established net.netfilter.nf_conntrack_tcp_timeout_close_wait
	net.netfilter.nf_conntrack_tcp_be_liberal)

# Folders outside the state folder that the kubelet and containerd make, wherever their own state is.
shared_dirs=(/var/lib/kubelet/device-plugins /var/lib/kubelet /var/lib/cni/results /var/lib/cni/networks /var/lib/cni
	/var/log/containers /var/log/pods /run/containerd/s /run/containerd /var/run/kubernetes /opt/containerd/bin
	/opt/containerd/lib /opt/containerd /run/netns /var/lib/containerd /run/mount)

record_machine() {
	local name dir
	mkdir -p "$machine_dir" "$state/machine"
	echo "$state" >"$machine_dir/owner"
	echo "$repo" >"$machine_dir/checkout"
	for name in "${kernel_settings[@]}"; do
		[ ! -r "/proc/sys/${name//.//}" ] || echo "$name=$(cat "/proc/sys/${name//.//}")"
	done >"$machine_dir/sysctl"
	for dir in "${shared_dirs[@]}"; do
		[ -d "$dir" ] || echo "$dir"
	done >"$machine_dir/absent"
	# A reboot empties /run.
	cp "$machine_dir"/* "$state/machine"
}

recorded() { cat "$machine_dir/$1" 2>/dev/null || cat "$state/machine/$1" 2>/dev/null || true; }

restore_kernel_settings() {
	local name value
	while IFS='=' read -r name value; do
		[ "$(cat "/proc/sys/${name//.//}" 2>/dev/null)" = "$value" ] ||
			printf '%s' "$value" >"/proc/sys/${name//.//}" 2>/dev/null || true
	done < <(recorded sysctl)
}

# remove_empty FOLDER...: folders that nobody else put anything into.
remove_empty() {
	local dir
	for dir in "$@"; do
		rmdir "$dir" 2>/dev/null || true
	done
}

# One up or down at a time on a machine. The lock is on a folder that is always there, so it leaves no file.
take_lock() {
	exec 9</run
	flock -n 9 || {
		say "another up or down is at work on this machine; waiting for it"
		flock -w 300 9 || fail "another up or down has been at work for 5 minutes: see ps -ef | grep hack/cluster"
	}
}

# refuse_other: ends with an error when a cluster of another checkout lives, unless it may be replaced. A cluster without a
# kubeconfig, because its start did not end or its checkout was deleted, is of no use to anybody.
refuse_other() {
	local owner owners
	mapfile -t owners < <(live_owners)
	for owner in "${owners[@]}"; do
		[ "$owner" != "$state" ] || continue
		if [ ! -e "$owner/kubeconfig" ]; then
			say "removing a cluster that nobody can use: its start did not end, or its checkout was deleted ($owner)"
		elif [ "${LEASEHOLD_CLUSTER_REPLACE:-}" = 1 ]; then
			say "replacing the running cluster of $owner"
		else
			fail "another checkout's cluster runs on this machine, and a machine holds one: $owner
  take it down:  LEASEHOLD_CLUSTER_DIR=$owner hack/cluster/cluster down
  or replace it: LEASEHOLD_CLUSTER_REPLACE=1 hack/cluster/cluster up"
		fi
	done
}

# known_owners: every state folder that may have left something, this one included.
known_owners() {
	local pid
	{
		echo "$state"
		recorded owner
		for pid in $(marked_pids); do owner_of "$pid"; done
	} | sort -u
}

# anything_left: is there a trace of a cluster, alive or not?
anything_left() {
	[ -d "$state/run" ] || [ -d "$machine_dir" ] || [ -n "$(marked_pids)" ] || [ -e "/sys/class/net/$bridge" ]
}
