# Processes of the cluster. Each carries a variable in its environment that names the state folder it belongs to, and its
# children (the shims of containers) inherit it. So the kernel's own list of processes says what runs: no record can be
# stale, and no process that took over a number can be mistaken for ours.
# shellcheck shell=bash

parts=(etcd kube-apiserver kube-controller-manager kube-scheduler containerd kubelet kube-proxy coredns)

# start NAME COMMAND...: starts a part detached from the terminal, with a clean environment and its output in a log.
start() {
	local name=$1
	shift
	mkdir -p "$logs"
	say "starting $name"
	setsid env -i "$marker=$state" PATH="$bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root \
		"$@" </dev/null >"$logs/$name.log" 2>&1 9>&- &
	record_process "$name" $!
}

# record_process NAME PID: a file with the process number and its start time, for people and for the tests.
record_process() {
	mkdir -p "$state/run"
	echo "$2 $(start_time "$2")" >"$state/run/$1.pid"
}

# The 22nd field of stat, counted behind the name, which may hold anything.
start_time() {
	local line fields
	line=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	read -ra fields <<<"${line##*) }"
	echo "${fields[19]}"
}

# part_pid NAME: the number of the part's process, when it lives and is the one that was started.
part_pid() {
	local pid="" begun=""
	[ -f "$state/run/$1.pid" ] || return 1
	read -r pid begun <"$state/run/$1.pid" || return 1
	[ -n "$begun" ] && [ "$(start_time "$pid")" = "$begun" ] && [ "$(process_state "$pid")" != Z ] && echo "$pid"
}

process_state() { sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null; }

# marked_pids [STATE]: every live process of the cluster in folder STATE, or of any cluster.
marked_pids() {
	local file match=(-z "^$marker=")
	[ -z "${1:-}" ] || match=(-zxF "$marker=$1")
	{ grep -ls "${match[@]}" /proc/[0-9]*/environ 2>/dev/null || true; } | while read -r file; do
		file=${file#/proc/}
		echo "${file%/environ}"
	done
}

# owner_of PID: the state folder of the cluster that the process belongs to.
owner_of() {
	{ tr '\0' '\n' <"/proc/$1/environ"; } 2>/dev/null | sed -n "s/^$marker=//p"
}

# A cluster is alive when a part of it runs. A container's shim that outlived all of them is a leftover.
live_owners() {
	local pid
	for pid in $(marked_pids); do
		case $(readlink "/proc/$pid/exe" 2>/dev/null) in
			*/containerd-shim* | */runc | "") ;;
			*) owner_of "$pid" ;;
		esac
	done | sort -u
}

# kill_marked STATE SIGNAL
kill_marked() {
	local pid
	for pid in $(marked_pids "$1"); do
		kill "-$2" "$pid" 2>/dev/null || true
	done
}

none_marked() { [ -z "$(marked_pids "$1")" ]; }
