# etcd, the API server, the controllers and the scheduler.
# shellcheck shell=bash

kube() { "$bin/kubectl" --kubeconfig "$state/pki/admin.kubeconfig" --request-timeout=5s "$@"; }

start_control_plane() {
	start_etcd
	start_apiserver
	wait_for 60 "the API server is ready" kube-apiserver kube get --raw /readyz
	start kube-controller-manager "$bin/kube-controller-manager" \
		--kubeconfig="$state/pki/kube-controller-manager.kubeconfig" \
		--authentication-kubeconfig="$state/pki/kube-controller-manager.kubeconfig" \
		--authorization-kubeconfig="$state/pki/kube-controller-manager.kubeconfig" \
		--bind-address=127.0.0.1 --secure-port="$kcm_port" --cert-dir="$state/pki" \
		--service-account-private-key-file="$state/pki/sa.key" --root-ca-file="$state/pki/ca.crt" \
		--flex-volume-plugin-dir="$state/kubelet-plugins" \
		--use-service-account-credentials=true --leader-elect=false --node-monitor-grace-period=20s
	start kube-scheduler "$bin/kube-scheduler" --kubeconfig="$state/pki/kube-scheduler.kubeconfig" \
		--authentication-kubeconfig="$state/pki/kube-scheduler.kubeconfig" \
		--authorization-kubeconfig="$state/pki/kube-scheduler.kubeconfig" \
		--bind-address=127.0.0.1 --secure-port="$scheduler_port" --cert-dir="$state/pki" --leader-elect=false
}

# Nothing here has to outlive a power cut, so etcd need not wait for the disk.
start_etcd() {
	start etcd "$bin/etcd" --name "$node_name" --data-dir "$state/etcd" --unsafe-no-fsync --logger zap --log-level warn \
		--listen-client-urls "https://127.0.0.1:$etcd_port" --advertise-client-urls "https://127.0.0.1:$etcd_port" \
		--listen-peer-urls "http://127.0.0.1:$etcd_peer_port" \
		--initial-advertise-peer-urls "http://127.0.0.1:$etcd_peer_port" \
		--initial-cluster "$node_name=http://127.0.0.1:$etcd_peer_port" \
		--client-cert-auth --trusted-ca-file "$state/pki/ca.crt" \
		--cert-file "$state/pki/etcd.crt" --key-file "$state/pki/etcd.key"
}

# It can listen on all addresses or on one, and needs two: the loopback and the bridge. A rule of the node's own nftables
# table keeps the others out (node.sh).
start_apiserver() {
	write_audit_policy
	start kube-apiserver "$bin/kube-apiserver" \
		--etcd-servers="https://127.0.0.1:$etcd_port" --etcd-cafile="$state/pki/ca.crt" \
		--etcd-certfile="$state/pki/admin.crt" --etcd-keyfile="$state/pki/admin.key" \
		--bind-address=0.0.0.0 --secure-port="$api_port" --advertise-address="$bridge_address" \
		--tls-cert-file="$state/pki/apiserver.crt" --tls-private-key-file="$state/pki/apiserver.key" \
		--cert-dir="$state/pki" --client-ca-file="$state/pki/ca.crt" \
		--requestheader-client-ca-file="$state/pki/ca.crt" --requestheader-allowed-names=front-proxy-client \
		--service-account-key-file="$state/pki/sa.pub" --service-account-signing-key-file="$state/pki/sa.key" \
		--service-account-issuer="https://kubernetes.default.svc.$dns_domain" \
		--service-cluster-ip-range="$service_range" --authorization-mode=Node,RBAC --allow-privileged=true \
		--kubelet-preferred-address-types=InternalIP --kubelet-certificate-authority="$state/pki/ca.crt" \
		--kubelet-client-certificate="$state/pki/admin.crt" --kubelet-client-key="$state/pki/admin.key" \
		--audit-policy-file="$state/audit.yaml" --audit-log-path="$audit_log" --audit-log-maxsize=20 --audit-log-maxbackup=4 \
		--shutdown-delay-duration=0s
}

# Who wrote what, without what was written: the benchmarks count it. Reads, and the kubelet's own Lease, are left out.
write_audit_policy() {
	cat >"$state/audit.yaml" <<TXT
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- level: None
  verbs: [get, list, watch]
- level: None
  namespaces: [kube-node-lease]
- level: Metadata
  resources:
  - {group: leasehold.dev}
  - {group: batch}
  - {group: "", resources: [pods, pods/status, pods/binding, events]}
  - {group: events.k8s.io}
  - {group: coordination.k8s.io}
- level: None
TXT
}

# node_audit: the audit log, oldest line first; the files that were turned over carry their time in their names.
node_audit() {
	[ -f "$audit_log" ] || fail "there is no audit log: take the cluster down and up again"
	cat $(ls "${audit_log%.log}"-*.log 2>/dev/null) "$audit_log"
}
