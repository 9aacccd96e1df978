# The node: its network, containerd, the kubelet, kube-proxy and the cluster's DNS.
# shellcheck shell=bash

containerd_socket="$state/containerd/containerd.sock"

# The kubelet wants the node's address on an interface before it starts, and pods reach the host at the bridge's address.
make_network() {
	say "making the network: bridge $bridge, pods $pod_range, services $service_range"
	check_routes
	ip link add "$bridge" type bridge
	ip address add "$bridge_address/$bridge_bits" dev "$bridge"
	ip link set "$bridge" up
	echo 1 >/proc/sys/net/ipv4/ip_forward
	nft -f - <<TXT
table inet $nft_table {
	chain input {
		type filter hook input priority filter - 5; policy accept;
		iifname != { "lo", "$bridge" } tcp dport $api_port drop comment "the API server is for this machine and its pods"
	}
	chain postrouting {
		type nat hook postrouting priority srcnat + 5; policy accept;
		ip saddr $pod_range ip daddr != $pod_range oifname != "$bridge" masquerade
	}
}
TXT
	open_firewall
}

check_routes() {
	local range taken
	for range in "$pod_range" "$service_range"; do
		taken=$(ip route show root "$range" | head -n 1)
		[ -z "$taken" ] || fail "this machine has a route in $range, which the cluster uses: $taken"
	done
}

# Docker sets the policy of the FORWARD chain to DROP, ufw that of INPUT too: for everybody's packets, whatever our own table
# accepts.
open_firewall() {
	local rule=(-m comment --comment "$firewall_comment" -j ACCEPT)
	if firewall_drops INPUT; then
		iptables -I INPUT -i "$bridge" "${rule[@]}"
	fi
	if firewall_drops FORWARD; then
		iptables -I FORWARD -i "$bridge" "${rule[@]}"
		iptables -I FORWARD -o "$bridge" "${rule[@]}"
	fi
}

firewall_drops() { [ "$(iptables -S "$1" 2>/dev/null | head -n 1)" = "-P $1 DROP" ]; }

write_cni() {
	mkdir -p "$state/cni/conf"
	cat >"$state/cni/conf/10-leasehold.conflist" <<TXT
{"cniVersion": "0.4.0", "name": "leasehold", "plugins": [
  {"type": "bridge", "bridge": "$bridge", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$state/cni/ipam", "routes": [{"dst": "0.0.0.0/0"}],
            "ranges": [[{"subnet": "$pod_range", "gateway": "$bridge_address"}]]}},
  {"type": "loopback"}]}
TXT
}

cni_plugins() {
	local dir
	for dir in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
		if [ -x "$dir/bridge" ] && [ -x "$dir/host-local" ]; then
			echo "$dir"
			return
		fi
	done
	fail "no CNI plugins (bridge, host-local) in /usr/lib/cni or /opt/cni/bin: hack/cluster/cluster packages installs them"
}

# Where overlayfs cannot lie on the state folder's own file system, files are copied instead.
snapshotter() {
	case $(stat -f -c %T "$state") in
		overlayfs | nfs | fuseblk | v9fs) echo native ;;
		*) echo overlayfs ;;
	esac
}

# restrict_oom_score_adj: in a container or a small virtual machine root may not lower it, and runc then fails with
# "can't get final child's PID from pipe: EOF".
write_containerd_config() {
	mkdir -p "$state/containerd"
	cat >"$state/containerd/config.toml" <<TXT
version = 2
root = "$state/containerd/root"
state = "$state/containerd/state"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "$containerd_socket"
[plugins."io.containerd.internal.v1.opt"]
  path = "$state/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause_image"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "$(snapshotter)"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "$state/containerd/runc"
      SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$(cni_plugins)"
    conf_dir = "$state/cni/conf"
TXT
}

node_ctr() {
	part_pid containerd >/dev/null || fail "the cluster is not running: make cluster-up"
	ctr --address "$containerd_socket" --namespace k8s.io "$@"
}

# node_signal PART SIGNAL: for tests of what stands still or dies.
node_signal() {
	local pid
	[ $# = 2 ] || fail "usage: hack/cluster/cluster signal PART SIGNAL"
	pid=$(part_pid "$1") || fail "$1 does not run; hack/cluster/cluster status lists the parts"
	kill "-$2" "$pid"
}

start_containerd() {
	modprobe -q overlay 2>/dev/null || true
	write_cni
	write_containerd_config
	start containerd containerd --config "$state/containerd/config.toml"
	wait_for 30 "containerd answers" containerd node_ctr version
}

# Pods live below a cgroup of the cluster's own, apart from those of any other cluster on the machine.
make_cgroups() {
	local dir controller
	if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
		for controller in cpuset cpu io memory hugetlb pids; do
			echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
		done
		mkdir -p "/sys/fs/cgroup/$cgroup"
		return
	fi
	for dir in /sys/fs/cgroup/*/; do
		[ -L "${dir%/}" ] || [ ! -e "$dir/cgroup.procs" ] || mkdir -p "$dir$cgroup"
	done
	dir=/sys/fs/cgroup/cpuset
	[ ! -d "$dir" ] || for controller in cpuset.cpus cpuset.mems; do
		cat "$dir/$controller" >"$dir/$cgroup/$controller"
	done
}

# Images come from no registry, so none may be collected as garbage. Thresholds of eviction are low: the disk is shared with
# everything else on the machine, and a full one would evict all pods.
write_kubelet_config() {
	printf 'nameserver %s\n' "$bridge_address" >"$state/resolv.conf"
	cat >"$state/kubelet.yaml" <<TXT
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $bridge_address
port: $kubelet_port
healthzBindAddress: 127.0.0.1
healthzPort: $kubelet_health_port
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "$state/pki/ca.crt"}}
authorization: {mode: Webhook}
tlsCertFile: $state/pki/kubelet.crt
tlsPrivateKeyFile: $state/pki/kubelet.key
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
failCgroupV1: false
failSwapOn: false
containerRuntimeEndpoint: unix://$containerd_socket
volumePluginDir: $state/kubelet-plugins
podLogsDir: $state/pod-logs
resolvConf: $state/resolv.conf
clusterDNS: [$bridge_address]
clusterDomain: $dns_domain
makeIPTablesUtilChains: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
TXT
}

start_kubelet() {
	make_cgroups
	write_kubelet_config
	start kubelet "$bin/kubelet" --config="$state/kubelet.yaml" --kubeconfig="$state/pki/kubelet.kubeconfig" \
		--hostname-override="$node_name" --node-ip="$bridge_address" --root-dir="$state/kubelet" --cert-dir="$state/pki"
}

# masqueradeAll: two pods on one bridge answer each other directly, past the translation of the service's address, unless
# the packet seems to come from the host.
start_proxy() {
	cat >"$state/kube-proxy.yaml" <<TXT
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: "$state/pki/kube-proxy.kubeconfig"}
hostnameOverride: $node_name
clusterCIDR: $pod_range
healthzBindAddress: 127.0.0.1:$proxy_health_port
metricsBindAddress: 127.0.0.1:$proxy_metrics_port
nftables: {masqueradeAll: true}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
TXT
	start kube-proxy "$bin/kube-proxy" --config="$state/kube-proxy.yaml"
}

start_dns() {
	cat >"$state/Corefile" <<TXT
. {
	bind $bridge_address
	errors
	cache 5
	kubernetes $dns_domain in-addr.arpa ip6.arpa {
		kubeconfig "$state/pki/admin.kubeconfig"
	}
}
TXT
	start coredns "$bin/coredns" -conf "$state/Corefile"
}
