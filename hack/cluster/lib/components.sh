# Kubernetes, etcd and CoreDNS, compiled from the module in hack/cluster/components into a folder that is named by what
# was compiled, so that two checkouts share it and a change of version makes a new one.
# shellcheck shell=bash

envtest_components=(etcd kube-apiserver kubectl)
all_components=(etcd kube-apiserver kubectl kube-controller-manager kube-scheduler kubelet kube-proxy coredns)

component_package() {
	case $1 in
		etcd) echo go.etcd.io/etcd/server/v3 ;;
		coredns) echo ./coredns ;;
		*) echo "k8s.io/kubernetes/cmd/$1" ;;
	esac
}

# About how long a cold build takes on two cores, in seconds, when built in the order above.
component_seconds() {
	case $1 in
		etcd) echo 40 ;; kube-apiserver) echo 195 ;; kubectl) echo 20 ;; kube-controller-manager) echo 75 ;;
		kube-scheduler) echo 10 ;; kubelet) echo 25 ;; kube-proxy) echo 10 ;; coredns) echo 30 ;;
	esac
}

kubernetes_version() {
	sed -n 's/^\t*k8s.io\/kubernetes \(v[0-9.]*\).*/\1/p' "$here/components/go.mod" | head -n 1
}

# Without its version a server says v0.0.0, and clients that compare versions misbehave.
component_ldflags() {
	local version rest x=k8s.io/component-base/version
	version=$(kubernetes_version)
	rest=${version#v}
	echo "-s -w -X $x.gitVersion=$version -X $x.gitMajor=${rest%%.*} -X $x.gitMinor=$(cut -d. -f2 <<<"$rest")"
}

components_dir() {
	local sum
	sum=$( (cd "$here/components" && cat go.mod go.sum coredns/main.go && component_ldflags && uname -m) |
		sha256sum | cut -c1-16)
	echo "$cache/components/$sum"
}

# components [envtest|kubectl]: compiles what is missing and prints the folder.
components() {
	local wanted=("${all_components[@]}") dir
	case ${1:-} in
		"") ;;
		envtest) wanted=("${envtest_components[@]}") ;;
		kubectl) wanted=(kubectl) ;;
		*) fail "components $1: the only set with a name is envtest" ;;
	esac
	dir=$(components_dir)
	if ! components_there "$dir" "${wanted[@]}"; then
		need_command go "install Go 1.26 from https://go.dev/dl"
		mkdir -p "$dir"
		build_missing "$dir" "${wanted[@]}"
	fi
	echo "$dir"
}

components_there() {
	local dir=$1 name
	shift
	for name in "$@"; do
		[ -x "$dir/$name" ] || return 1
	done
}

# Two checkouts that compile at the same time take turns: the second finds everything there.
build_missing() (
	dir=$1
	shift
	exec 8>"$dir/.lock"
	if ! flock -n 8; then
		say "another build of the components is running; waiting for it"
		flock 8
	fi
	todo=() total=0
	for name in "$@"; do
		if [ ! -x "$dir/$name" ]; then
			todo+=("$name")
			total=$((total + $(component_seconds "$name")))
		fi
	done
	[ ${#todo[@]} -gt 0 ] || exit 0
	say "compiling Kubernetes $(kubernetes_version): ${todo[*]}"
	say "about $(((total + 59) / 60)) min on two cores with an empty build cache, only this once; into $dir"
	temp=$(mktemp -d "$dir/.build-XXXXXX")
	trap 'rm -rf "$temp"' EXIT
	begun=$SECONDS number=0
	for name in "${todo[@]}"; do
		number=$((number + 1))
		build_one "$name" "$number/${#todo[@]}"
	done
	say "all compiled in $((SECONDS - begun)) s"
)

build_one() {
	local name=$1 place=$2 at=$SECONDS pid next=15
	(cd "$here/components" && CGO_ENABLED=0 GOWORK=off exec go build -buildvcs=false -trimpath -ldflags "$(component_ldflags)" \
		-o "$temp/$name" "$(component_package "$name")") >"$temp/log" 2>&1 8>&- &
	pid=$!
	# An interrupted script must not leave the compiler running.
	trap 'kill "$pid" 2>/dev/null || true; rm -rf "$temp"; exit 130' INT TERM
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.5
		if [ $((SECONDS - at)) -ge $next ]; then
			say "  $place $name: $((SECONDS - at)) s of about $(component_seconds "$name") s"
			next=$((next + 15))
		fi
	done
	if ! wait "$pid"; then
		grep -v '^go: downloading' "$temp/log" | tail -n 25 | cut -c1-300 >&2 || true
		fail "$name did not compile: see the lines above. Go modules must be reachable (GOPROXY=$(go env GOPROXY))"
	fi
	mv "$temp/$name" "$dir/$name"
	say "  $place $name: done in $((SECONDS - at)) s"
}
