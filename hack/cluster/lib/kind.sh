# The same commands on kind, for machines with a Docker engine. kind itself is compiled from its pinned module.
# shellcheck shell=bash

kind_name=leasehold
kind_kubeconfig="$state/kind/kubeconfig"

kind_dir() {
	local sum
	sum=$( (cat "$here/kind/go.mod" "$here/kind/go.sum" && uname -m) | sha256sum | cut -c1-16)
	echo "$cache/kind/$sum"
}

kind_build() {
	local dir
	dir=$(kind_dir)
	[ ! -x "$dir/kind" ] || return 0
	need_command go "install Go 1.26 from https://go.dev/dl"
	say "compiling kind (about 10 s)"
	mkdir -p "$dir"
	(cd "$here/kind" &&
		CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -trimpath -ldflags "-s -w" -o "$dir/.kind-$$" sigs.k8s.io/kind) >&2 ||
		fail "kind did not compile: see the lines above"
	mv "$dir/.kind-$$" "$dir/kind"
}

run_kind() { KIND_EXPERIMENTAL_PROVIDER=docker "$(kind_dir)/kind" "$@"; }

need_docker() {
	need_command docker "CLUSTER=kind needs a Docker engine: install one, or use CLUSTER=local, which needs none"
	docker info >/dev/null 2>&1 || fail "no Docker engine answers (docker info fails): start it, or add yourself to the group \
docker, or use CLUSTER=local, which needs none. It says: $(docker info 2>&1 | grep -i -m1 -e error -e cannot -e permission)"
}

kind_exists() { run_kind get clusters 2>/dev/null | grep -qx "$kind_name"; }

kind_up() {
	local begun=$SECONDS image=()
	need_docker
	kind_build
	packages kind
	if kind_exists; then
		say "already up"
		kind_export
	else
		[ -z "${KIND_NODE_IMAGE:-}" ] || image=(--image "$KIND_NODE_IMAGE")
		mkdir -p "$state/kind"
		run_kind create cluster --name "$kind_name" --config "$here/kind/cluster.yaml" --kubeconfig "$kind_kubeconfig" \
			--wait 120s --retain "${image[@]}" >&2 || kind_failed
		kind_wait
		kind_images
		say "up in $((SECONDS - begun)) s"
	fi
	say "use it:  eval \"\$(CLUSTER=kind hack/cluster/cluster env)\"; kubectl get nodes"
}

# kind is silent about why a node does not start; its kubelet and its containerd are not.
kind_failed() {
	docker exec "$kind_name-control-plane" journalctl --no-pager -n 20 -u kubelet -u containerd 2>&1 | cut -c1-300 >&2 || true
	fail "kind could not make the cluster. The node is kept: docker exec -it $kind_name-control-plane bash looks into it, \
CLUSTER=kind hack/cluster/cluster down removes it"
}

kind_kubectl() {
	PATH="$(kind_path):$PATH" kubectl --kubeconfig "$kind_kubeconfig" --request-timeout=5s "$@"
}

# kind returns before the controllers and the DNS run.
kind_wait() {
	local limit=$((SECONDS + 120))
	say "waiting for the node, the DNS and the default service account"
	until kind_kubectl -n default get serviceaccount default >/dev/null 2>&1 &&
		kind_kubectl wait --for=condition=Ready node --all --timeout=1s >/dev/null 2>&1 && kind_dns_ready; do
		[ $SECONDS -lt $limit ] || { kind_kubectl get nodes,pods -A >&2 || true; fail "the kind cluster is not usable after 120 s"; }
		sleep 1
	done
}

# A node image of one's own may come without CoreDNS.
kind_dns_ready() {
	local wanted
	wanted=$(kind_kubectl -n kube-system get deployment coredns --ignore-not-found -o name) || return 1
	[ -z "$wanted" ] || kind_kubectl -n kube-system rollout status "$wanted" --timeout=1s >/dev/null 2>&1
}

kind_down() {
	need_docker
	kind_build
	run_kind delete cluster --name "$kind_name" --kubeconfig "$kind_kubeconfig" >&2
	rm -rf "$state/kind"
	rmdir "$state" 2>/dev/null || true
}

# 0 healthy, 1 not healthy, 3 none, as for the local cluster.
kind_status() {
	need_docker
	kind_build
	if ! kind_exists; then
		echo "no cluster (start it with: CLUSTER=kind make cluster-up)"
		return 3
	fi
	kind_export
	kind_kubectl get nodes -o wide || return 1
	echo "kubeconfig: $kind_kubeconfig"
	kind_kubectl wait --for=condition=Ready node --all --timeout=1s >/dev/null 2>&1
}

kind_export() {
	[ -e "$kind_kubeconfig" ] || {
		mkdir -p "$state/kind"
		run_kind export kubeconfig --name "$kind_name" --kubeconfig "$kind_kubeconfig" >/dev/null 2>&1 ||
			fail "kind could not write the kubeconfig of cluster $kind_name"
	}
}

kind_kubeconfig() {
	need_docker
	kind_build
	kind_exists || fail "there is no kind cluster: CLUSTER=kind make cluster-up"
	kind_export
	echo "$kind_kubeconfig"
}

# kubectl of the machine, when there is one; otherwise it is compiled.
kind_path() {
	command -v kubectl >/dev/null || components kubectl >/dev/null
	echo "$(kind_dir):$(components_dir)"
}

kind_env() {
	local file
	file=$(kind_kubeconfig)
	printf 'export KUBECONFIG=%q\nexport PATH=%q:"$PATH"\n' "$file" "$(kind_path)"
}

kind_load() {
	local arg
	need_docker
	kind_build
	for arg in "$@"; do
		check_tar "$arg"
		run_kind load image-archive "${arg#*=}" --name "$kind_name" >&2 || fail "kind could not load ${arg#*=}"
		docker exec "$kind_name-control-plane" ctr -n k8s.io images list -q "name==${arg%%=*}" | grep -q . ||
			fail "${arg#*=} does not hold an image named ${arg%%=*}"
		say "loaded ${arg%%=*}"
	done
}

# The node image brings its own pause.
kind_images() {
	mkdir -p "$images_dir"
	say "making the images busybox and redis"
	build_busybox
	build_redis
	kind_load "$busybox_image=$images_dir/busybox.tar" "$redis_image=$images_dir/redis.tar"
}

kind_ctr() {
	need_docker
	docker exec "$kind_name-control-plane" ctr -n k8s.io "$@"
}

kind_signal() {
	need_docker
	docker exec "$kind_name-control-plane" pkill "-$2" -x "$1"
}
