# Certificates and kubeconfigs, made anew at each start and valid for a year.
# shellcheck shell=bash

make_pki() {
	say "making certificates"
	mkdir -p "$state/pki"
	chmod 700 "$state/pki"
	new_key ca
	openssl req -x509 -new -key "$state/pki/ca.key" -out "$state/pki/ca.crt" -days 365 -subj /CN=leasehold-local-ca \
		2>>"$logs/openssl.log"
	new_key sa
	openssl pkey -in "$state/pki/sa.key" -pubout -out "$state/pki/sa.pub"
	certificate apiserver /CN=kube-apiserver "IP:127.0.0.1,IP:$service_api,IP:$bridge_address,DNS:localhost,DNS:kubernetes,$(
	)DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.$dns_domain"
	certificate etcd /CN=etcd IP:127.0.0.1,DNS:localhost
	certificate admin /O=system:masters/CN=admin
	certificate kubelet "/O=system:nodes/CN=system:node:$node_name" "IP:$bridge_address,DNS:$node_name"
	certificate kube-controller-manager /CN=system:kube-controller-manager
	certificate kube-scheduler /CN=system:kube-scheduler
	certificate kube-proxy /CN=system:kube-proxy
	local name
	for name in admin kubelet kube-controller-manager kube-scheduler kube-proxy; do
		write_kubeconfig "$name" "$state/pki/$name.kubeconfig"
	done
}

new_key() {
	openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$state/pki/$1.key" 2>>"$logs/openssl.log"
}

# certificate NAME SUBJECT [ALTERNATIVE NAMES]: for servers and clients alike.
certificate() {
	local file="$state/pki/$1"
	new_key "$1"
	openssl req -new -key "$file.key" -subj "$2" -out "$file.csr" 2>>"$logs/openssl.log"
	openssl x509 -req -in "$file.csr" -CA "$state/pki/ca.crt" -CAkey "$state/pki/ca.key" -CAcreateserial -days 365 \
		-out "$file.crt" -extfile <(
			echo "extendedKeyUsage=serverAuth,clientAuth"
			[ -z "${3:-}" ] || echo "subjectAltName=$3"
		) 2>>"$logs/openssl.log"
	rm -f "$file.csr"
}

# write_kubeconfig NAME FILE: complete in itself, so that it can be copied.
write_kubeconfig() {
	local name=$1 file=$2
	(umask 077 && cat >"$file") <<TXT
apiVersion: v1
kind: Config
clusters:
- name: leasehold
  cluster:
    server: https://127.0.0.1:$api_port
    certificate-authority-data: $(base64 -w0 <"$state/pki/ca.crt")
users:
- name: $name
  user:
    client-certificate-data: $(base64 -w0 <"$state/pki/$name.crt")
    client-key-data: $(base64 -w0 <"$state/pki/$name.key")
contexts:
- name: leasehold
  context: {cluster: leasehold, user: $name}
current-context: leasehold
TXT
}

# The user's kubeconfig belongs to who called sudo. It comes last: that it is there says that the cluster was up once.
publish_kubeconfig() {
	cp "$state/pki/admin.kubeconfig" "$kubeconfig.new"
	chown "${SUDO_UID:-0}:${SUDO_GID:-0}" "$kubeconfig.new"
	mv "$kubeconfig.new" "$kubeconfig"
}
