# The images of the node and of the samples, made from this machine's own programs.
# shellcheck shell=bash

pause_image=docker.io/local/pause:1
busybox_image=docker.io/local/busybox:1
redis_image=docker.io/local/redis:7
images_dir="$cache/images"

image_tool() { (cd "$here/../image" && GOWORK=off go run . "$@"); }

build_images() {
	need_command go "install Go 1.26 from https://go.dev/dl"
	mkdir -p "$images_dir"
	say "making the images pause, busybox and redis"
	build_pause
	build_busybox
	build_redis
}

build_pause() {
	(cd "$here/../image" &&
		CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -trimpath -ldflags "-s -w" -o "$images_dir/.pause" ./pause)
	image_tool -name "$pause_image" -out "$images_dir/pause.tar" -user 65535:65535 -entrypoint /pause \
		"$images_dir/.pause=/pause"
}

build_busybox() {
	local busybox applet links=()
	busybox=$(command -v busybox) || fail "busybox is not installed: hack/cluster/cluster packages"
	for applet in $("$busybox" --list); do
		[ "$applet" = busybox ] || links+=(-symlink "/bin/$applet=busybox")
	done
	image_tool -name "$busybox_image" -out "$images_dir/busybox.tar" -cmd sh -dir /tmp=1777 "${links[@]}" \
		"$busybox=/bin/busybox"
}

# Debian's redis-server with the libraries that it loads, each where the loader looks for it.
build_redis() {
	local server client library files=()
	server=$(command -v redis-server) && client=$(command -v redis-cli) ||
		fail "redis-server and redis-cli are not installed: hack/cluster/cluster packages"
	while read -r library; do
		files+=("$(readlink -f "$library")=$library")
	done < <(ldd "$server" "$client" | grep -o '/[^ ]*lib[^ ]*\.so[^ ]*' | sort -u)
	image_tool -name "$redis_image" -out "$images_dir/redis.tar" -user 999:999 -workdir /data -dir /data=1777 \
		-dir /tmp=1777 -entrypoint redis-server \
		"$(readlink -f "$server")=/usr/bin/redis-server" "$(readlink -f "$client")=/usr/bin/redis-cli" "${files[@]}"
}

built_images=("$pause_image=$images_dir/pause.tar" "$busybox_image=$images_dir/busybox.tar"
	"$redis_image=$images_dir/redis.tar")

local_images() {
	build_images
	as_root node_load "${built_images[@]}"
}

check_tar() {
	case $1 in *=*) ;; *) fail "load $1: want NAME:TAG=TAR" ;; esac
	[ -f "${1#*=}" ] || fail "load: ${1#*=} does not exist"
}

# node_load NAME:TAG=TAR...: an image that is there already, from the same bytes, is not loaded again.
node_load() {
	local arg name tar sum out
	part_pid containerd >/dev/null || fail "the cluster is not running: make cluster-up"
	mkdir -p "$state/loaded"
	for arg in "$@"; do
		check_tar "$arg"
		name=${arg%%=*} tar=${arg#*=}
		sum=$(sha256sum <"$tar")
		[ "$(cat "$state/loaded/${name//\//_}" 2>/dev/null)" != "$sum" ] || continue
		out=$(node_ctr images import "$tar" 2>&1) || fail "containerd could not import $tar: $out"
		[ -n "$(node_ctr images list --quiet "name==$name" 2>/dev/null)" ] || fail "$tar does not hold an image named $name: $out"
		echo "$sum" >"$state/loaded/${name//\//_}"
		say "loaded $name"
	done
}
