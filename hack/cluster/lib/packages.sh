# The distribution's packages.
# shellcheck shell=bash

node_packages=(containerd runc containernetworking-plugins iptables nftables conntrack iproute2 busybox-static
	redis-server redis-tools jq openssl)
test_packages=(redis-server redis-tools)

packages() {
	local wanted=("${node_packages[@]}") missing=() package
	case ${1:-} in
		"") ;;
		test)
			wanted=("${test_packages[@]}")
			# The race detector links with a C compiler.
			command -v gcc >/dev/null || command -v cc >/dev/null || wanted+=(gcc libc6-dev)
			;;
		# What the samples' images are made of; the rest is in kind's node image.
		kind) wanted=(busybox-static redis-server redis-tools) ;;
		*) fail "packages $1: the only set with a name is test" ;;
	esac
	need_command dpkg-query "only Debian, Ubuntu and their kin are supported"
	for package in "${wanted[@]}"; do
		package_provided "$package" || missing+=("$package")
	done
	if [ ${#missing[@]} -gt 0 ]; then
		install_packages "${missing[@]}"
	fi
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Docker's own packages bring containerd and runc under another name, and conflict with the distribution's.
package_provided() {
	installed "$1" && return
	case $1 in
		containerd | runc) installed containerd.io ;;
		*) return 1 ;;
	esac
}

apt() {
	local sudo=()
	[ "$(id -u)" = 0 ] || sudo=(sudo)
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l LC_ALL=C.UTF-8 apt-get -q -y \
		-o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null
}

install_packages() {
	local log code=0
	[ "$(id -u)" = 0 ] || need_command sudo "it is needed to install: $*. Become root, or install sudo"
	log=$(mktemp -t leasehold-apt-XXXXXX)
	say "installing packages: $*"
	hold_services
	trap release_services EXIT
	apt_install "$log" "$@" || code=$?
	release_services
	trap - EXIT
	if [ $code != 0 ]; then
		grep -E '^(E|W|Err)' "$log" | tail -n 15 >&2 || true
		show_log "$log" 8
		fail "apt-get could not install: $*. The whole output is in $log"
	fi
	rm -f "$log"
	disable_services "$@"
}

# The package lists are fetched only when an installation fails without them.
apt_install() {
	local log=$1
	shift
	if compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null &&
		apt install --no-install-recommends "$@" >"$log" 2>&1; then
		return 0
	fi
	say "fetching the package lists (apt-get update)"
	apt update >"$log" 2>&1 || say "apt-get update reported errors; trying to install all the same"
	apt install --no-install-recommends "$@" >>"$log" 2>&1
}

# redis-server and containerd would start services that nobody asked for. policy-rc.d is Debian's way to forbid it for the
# time of an installation; a policy that is there already is put back afterwards.
policy=/usr/sbin/policy-rc.d
hold_services() {
	root_sh "if [ -e $policy ]; then mv $policy $policy.leasehold; fi
		printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy"
}
release_services() {
	root_sh "rm -f $policy; if [ -e $policy.leasehold ]; then mv $policy.leasehold $policy; fi"
}

# Services of packages that were not there before must not start at the next boot either.
disable_services() {
	local package
	[ -d /run/systemd/system ] || return 0
	for package in "$@"; do
		case $package in
			redis-server | containerd) root_sh "systemctl disable --quiet $package.service" || true ;;
		esac
	done
}

root_sh() {
	if [ "$(id -u)" = 0 ]; then sh -c "$1"; else sudo sh -c "$1"; fi
}
