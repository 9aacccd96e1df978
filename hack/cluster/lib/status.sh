# What runs.
# shellcheck shell=bash

# node_status: exit code 0 when the cluster of this checkout is healthy, 1 when it is not, 3 when there is none.
node_status() {
	local name pid healthy=0
	bin=$(components_dir)
	if none_marked "$state"; then
		echo "no cluster (start it with: make cluster-up)"
		live_owners | sed 's/^/the cluster of another checkout runs: /'
		return 3
	fi
	for name in "${parts[@]}"; do
		if pid=$(part_pid "$name"); then
			printf '%-24s running  pid %-7s %s\n' "$name" "$pid" "$(process_note "$pid")"
		else
			printf '%-24s DEAD     log %s\n' "$name" "$logs/$name.log"
			healthy=1
		fi
	done
	api_status || healthy=1
	return $healthy
}

process_note() {
	[ "$(process_state "$1")" != T ] || echo "STOPPED (SIGSTOP)"
}

api_status() {
	local code=0
	if ! kube get --raw /readyz >/dev/null 2>&1; then
		echo "API server               NOT READY"
		return 1
	fi
	node_ready || code=1
	kube get nodes -o wide || code=1
	echo "pods: $(kube get pods -A --no-headers 2>/dev/null | grep -c .) (kubectl get pods -A)"
	if [ -e "$kubeconfig" ]; then
		echo "kubeconfig: $kubeconfig"
	else
		echo "the start did not come to its end: make cluster-up"
		code=1
	fi
	return $code
}
