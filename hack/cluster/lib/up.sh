# Starting the cluster.
# shellcheck shell=bash

local_up() {
	local begun=$SECONDS
	packages
	bin=$(components)
	if as_root node_status >/dev/null 2>&1; then
		say "already up"
	else
		mkdir -p "$state"
		build_images
		as_root node_up
		say "up in $((SECONDS - begun)) s"
	fi
	say "use it:  eval \"\$(hack/cluster/cluster env)\"; kubectl get nodes"
	say "     or  export KUBECONFIG=$(printf %q "$kubeconfig")"
}

node_up() {
	bin=$(components_dir)
	take_lock
	refuse_other
	if anything_left; then
		say "removing what an earlier cluster left"
		clean_machine
	fi
	check_machine
	mkdir -p "$logs"
	record_machine
	make_network
	make_pki
	start_containerd
	start_control_plane
	node_load "${built_images[@]}"
	start_kubelet
	start_proxy
	start_dns
	wait_until_usable
	publish_kubeconfig
}

wait_until_usable() {
	say "waiting for the node, the DNS and the default service account"
	wait_for 90 "the node is Ready" kubelet node_ready
	wait_for 30 "kube-proxy has set up the services" kube-proxy nft list table ip kube-proxy
	wait_for 30 "CoreDNS knows kubernetes.default" coredns dns_answers
	wait_for 30 "the default service account is there" kube-controller-manager kube -n default get serviceaccount default
}

node_ready() {
	[ "$(kube get node "$node_name" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = True ]
}

dns_answers() {
	busybox nslookup "kubernetes.default.svc.$dns_domain" "$bridge_address" | grep -q "$service_api"
}

# check_machine fails early, and with the reason, where the cluster could not work.
check_machine() {
	local command port pid
	for command in containerd runc ctr nft ip openssl busybox; do
		need_command "$command" "hack/cluster/cluster packages"
	done
	components_there "$bin" "${all_components[@]}" || fail "$bin is not complete: hack/cluster/cluster components"
	for port in $api_port $etcd_port $etcd_peer_port $kubelet_port $kubelet_health_port $kcm_port $scheduler_port \
		$proxy_health_port $proxy_metrics_port; do
		pid=$(ss -Hltnp "sport = :$port")
		[ -z "$pid" ] || fail "port $port is taken on this machine: $pid"
	done
	if grep -qF /var/lib/kubelet/device-plugins/kubelet.sock /proc/net/unix; then
		fail "another kubelet runs on this machine: stop that cluster first"
	fi
	if nft list table ip kube-proxy >/dev/null 2>&1; then
		fail "another kube-proxy runs on this machine (nftables has a table ip kube-proxy): stop that cluster first"
	fi
}

local_kubeconfig() {
	[ -e "$kubeconfig" ] || fail "there is no cluster: make cluster-up"
	echo "$kubeconfig"
}

local_env() {
	local_kubeconfig >/dev/null
	printf 'export KUBECONFIG=%q\nexport PATH=%q:"$PATH"\n' "$kubeconfig" "$(components_dir)"
}
