# Taking the cluster down and removing every trace of it: processes, mounts, the network, cgroups, files. It works as well
# on a cluster that is half started, half dead, or dead since a reboot, and when the checkout it came from is gone.
# shellcheck shell=bash

node_down() {
	local begun=$SECONDS owner owners
	take_lock
	mapfile -t owners < <(live_owners)
	for owner in "${owners[@]}"; do
		if [ "$owner" != "$state" ] && [ -e "$owner/kubeconfig" ]; then
			# The machine's traces belong to that living cluster; of ours there can be files only.
			[ ! -d "$state" ] || remove_state "$state"
			say "no cluster of this checkout runs (another checkout's does: $owner)"
			return 0
		fi
	done
	if ! anything_left; then
		rm -rf "$state"
		say "nothing to take down"
		return 0
	fi
	clean_machine
	say "down in $((SECONDS - begun)) s"
}

clean_machine() {
	local owner owners absent
	mapfile -t owners < <(known_owners)
	mapfile -t absent < <(recorded absent)
	for owner in "${owners[@]}"; do
		stop_processes "$owner"
	done
	kill_pods
	for owner in "${owners[@]}"; do
		wait_gone "$owner"
		remove_mounts "$owner"
	done
	remove_network
	remove_cgroups
	restore_kernel_settings
	for owner in "${owners[@]}"; do
		remove_state "$owner"
	done
	remove_shared
	remove_empty "${absent[@]}"
	rm -rf "$machine_dir"
}

# All that runs is thrown away, so nothing needs to end gently: the kubelet goes first and restarts nobody.
stop_processes() {
	kill_marked "$1" STOP
	kill_marked "$1" KILL
}

kill_pods() {
	local procs dir pid
	for dir in $(cgroup_dirs); do
		# A frozen cgroup holds even a killed process.
		[ ! -e "$dir/freezer.state" ] || echo THAWED >"$dir/freezer.state" 2>/dev/null || true
		[ ! -e "$dir/cgroup.kill" ] || echo 1 >"$dir/cgroup.kill" 2>/dev/null || true
	done
	for dir in $(cgroup_dirs); do
		procs="$dir/cgroup.procs"
		while read -r pid; do
			kill -KILL "$pid" 2>/dev/null || true
		done < <(cat "$procs" 2>/dev/null)
	done
}

# cgroup_dirs: the cluster's cgroups in every hierarchy, the deepest first.
cgroup_dirs() {
	local top
	for top in /sys/fs/cgroup/"$cgroup" /sys/fs/cgroup/*/"$cgroup"; do
		[ ! -d "$top" ] || find "$top" -depth -type d
	done
}

wait_gone() {
	local limit=$((SECONDS + 20))
	until none_marked "$1"; do
		if [ $SECONDS -ge $limit ]; then
			ps -o pid,stat,wchan:20,args -p "$(marked_pids "$1" | paste -sd,)" >&2 || true
			fail "these processes do not die; they hang in the kernel"
		fi
		kill_marked "$1" KILL
		sleep 0.1
	done
}

# mounts_below FOLDER: the deepest first. The kernel writes a space as \040, which printf turns back.
mounts_below() {
	local point
	cut -d' ' -f5 /proc/self/mountinfo | while read -r point; do
		printf '%b\n' "$point"
	done | awk -v top="$1/" 'index($0 "/", top) == 1' | tac
}

remove_mounts() {
	local point
	mounts_below "$1" | while read -r point; do
		umount "$point" 2>/dev/null || umount -l "$point" 2>/dev/null || true
	done
}

remove_network() {
	local family rule
	ip link delete "$bridge" 2>/dev/null || true
	nft delete table inet "$nft_table" 2>/dev/null || true
	for family in ip ip6; do
		nft delete table "$family" kube-proxy 2>/dev/null || true
	done
	{ iptables -S 2>/dev/null || true; } | sed -n "/--comment \"*$firewall_comment/s/^-A/-D/p" | while read -r rule; do
		# shellcheck disable=SC2086
		iptables $rule || true
	done
}

remove_cgroups() {
	local limit=$((SECONDS + 5))
	until [ -z "$(cgroup_dirs)" ] || [ $SECONDS -ge $limit ]; do
		cgroup_dirs | while read -r dir; do rmdir "$dir" 2>/dev/null || true; done
	done
	[ -z "$(cgroup_dirs)" ] || say "warning: these cgroups could not be removed: $(cgroup_dirs | paste -sd' ')"
}

# remove_state FOLDER: never into a file system that is still mounted below it.
remove_state() {
	local file
	remove_mounts "$1"
	for file in /var/lib/cni/results/*; do
		[ ! -f "$file" ] || ! grep -qF "$1/containerd/state" "$file" || rm -f "$file"
	done
	[ ! -d "$1" ] || rm -rf --one-file-system "$1" || say "warning: $1 could not be removed"
}

# What the kubelet and containerd leave in places of their own.
remove_shared() {
	local file
	for file in /run/containerd/s/* /var/lib/kubelet/device-plugins/kubelet.sock; do
		[ ! -S "$file" ] || grep -qF "$file" /proc/net/unix || rm -f "$file"
	done
	for file in /var/log/containers/*; do
		[ ! -L "$file" ] || [ -e "$file" ] || rm -f "$file"
	done
	[ -s /run/mount/utab ] || rm -f /run/mount/utab
}
