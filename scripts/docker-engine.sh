#!/usr/bin/env bash
# Starts a Docker engine of its own, runs a command with it ($DOCKER_HOST), and ends it, however the command ends:
#   bash scripts/docker-engine.sh make test
# Without a command it runs until Ctrl-C. Where no engine can be had it says why, and runs the command without one.
#
# The engine changes neither firewall nor sysctl. All that it has is in one folder below /var/lib, but for its bridges.
# A second process, which belongs to root, keeps it, and ends it when its standard input closes: so also when this
# process is killed. If that one is killed too, the next start removes what is left.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
export PATH="$PATH:/usr/sbin:/sbin"
prefix=/var/lib/redlock-sim-engine.

say() { echo "docker-engine: $*" >&2; }

# bridges DIR: those of an engine. Its database names the ones of its networks.
bridges() {
	echo "redlock-${1##*.}"
	grep -aohE 'br-[0-9a-f]{12}' "$1"/data/network/files/*.db 2>/dev/null | sort -u || true
}

# network is what an engine may change and must not: bridges that are not another engine's of ours, sysctls but for
# those of single links, and the rules of the firewall without their counters.
network() {
	local other others=none
	for other in "$prefix"*; do
		[ "$other" = "$dir" ] || others+="$(bridges "$other" | sed 's/^/|/' | tr -d '\n')"
	done
	ip -o link show type bridge | cut -d: -f2 | grep -vxE " ($others)" || true
	sysctl -a 2>/dev/null | grep '^net\.' | grep -vE '_conntrack_count |\.(conf|neigh)\.' || true
	sysctl -a 2>/dev/null | grep -E '^net\.[a-z0-9]+\.(conf|neigh)\.(all|default)\.' || true
	for rules in iptables-save ip6tables-save; do
		"$rules" 2>/dev/null | sed -e '/^#/d' -e 's/\[[0-9:]*\]//' || true
	done
}

# processes DIR: those of an engine, and those in its containers.
processes() {
	pgrep -f "^([^ ]*/)?(dockerd|containerd|containerd-shim[^ ]*|runc) .*$1/" || true
	find /sys/fs/cgroup -path "*/${1##*/}/*" -name cgroup.procs -exec cat {} + 2>/dev/null || true
}

# clean DIR ends and removes all that is left of an engine.
clean() {
	local left bridge link
	for _ in {1..100}; do
		left="$(processes "$1" | sort -u)"
		[ -n "$left" ] || break
		# shellcheck disable=SC2086 # a list
		kill -KILL $left 2>/dev/null || true
		sleep 0.1
	done
	find /sys/fs/cgroup -depth -type d -path "*/${1##*/}*" -exec rmdir {} + 2>/dev/null || true
	for bridge in $(bridges "$1"); do
		for link in $(ip -o link show master "$bridge" 2>/dev/null | cut -d' ' -f2 | cut -d@ -f1) "$bridge"; do
			ip link delete "$link" 2>/dev/null || true
		done
	done
	find "$1" -name address -exec sed 's,^unix://,,' {} + 2>/dev/null | xargs -r rm -f # of sockets in /run/containerd
	rm -rf "$1"
	if ! [ -e /run/docker.sock ] && ! [ -e /run/containerd/containerd.sock ]; then # else they are the machine's
		rmdir /run/containerd/s /run/containerd /run/docker/plugins /run/docker 2>/dev/null || true
	fi
}

# keep is the second process. Its first line is where the engine listens, or why there is none.
keep() {
	local old name i why
	trap '' INT HUP
	exec 7</var/lib # they begin one after the other
	flock 7
	for old in "$prefix"*; do
		if [ -d "$old" ] && flock -n "$old" true; then
			say "removing what a killed one left in $old"
			clean "$old"
		fi
	done
	dir="$(mktemp -d "$prefix"XXXXXX)"
	exec 9<"$dir" # locked as long as somebody keeps the engine
	flock 9
	chmod 711 "$dir"
	echo '{}' >"$dir/daemon.json" # instead of the machine's
	before="$(network)"
	trap 'exit 143' TERM
	trap 'finish $?' EXIT

	name="redlock-${dir##*.}"
	for i in {0..15}; do # to find addresses that no route leads to
		net="10.213.$((16 * i))"
		ip -4 route show root "$net.0/20" | grep -q . || break
	done
	if ! why="$({ ip link add "$name" type bridge && ip addr add "$net.1/26" dev "$name" && ip link set "$name" up; } 2>&1)"; then
		echo "a bridge cannot be made: $why"
		return
	fi
	exec 7<&-

	# Mounts of a namespace end with its processes. If the engine saw the machine's containerd, it would use that, and it
	# may write a key to /etc/docker.
	# shellcheck disable=SC2016 # for the inner shell
	setpriv --pdeathsig TERM unshare --mount sh -c '
		! [ -e /run/containerd/containerd.sock ] || mount -n -t tmpfs tmpfs /run/containerd
		! [ -e /etc/docker ] || mount -n -t tmpfs tmpfs /etc/docker
		exec "$@"' sh \
		dockerd --config-file "$dir/daemon.json" --host "unix://$dir/docker.sock" --group "${SUDO_GID:-0}" --pidfile "$dir/pid" \
		--data-root "$dir/data" --exec-root "$dir/exec" --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/${dir##*/}" \
		--bridge "$name" --default-address-pool "base=$net.0/20,size=26" \
		--iptables=false --ip6tables=false --ip-forward=false --ip-masq=false --shutdown-timeout 5 </dev/null >"$dir/log" 2>&1 9<&- &
	engine=$!
	disown # nothing is to be said when it is killed
	for i in {1..600}; do
		! docker --host "unix://$dir/docker.sock" version >/dev/null 2>&1 || break
		if [ "$i" = 600 ] || ! kill -0 "$engine" 2>/dev/null; then
			echo "dockerd does not answer: $(tail -n 1 "$dir/log")"
			return
		fi
		sleep 0.1
	done
	echo "unix://$dir/docker.sock"
	read -r || true
	kill -0 "$engine" 2>/dev/null || { say "the engine ended by itself: $(tail -n 5 "$dir/log")"; return 1; }
}

# finish STATUS ends the engine, and sees that the machine is as before.
finish() {
	local after status=$1
	trap '' TERM
	if [ -n "${engine-}" ]; then
		kill -TERM "$engine" 2>/dev/null || true
		for _ in {1..300}; do
			kill -0 "$engine" 2>/dev/null || break
			sleep 0.1
		done
	fi
	clean "$dir"
	after="$(network)"
	if [ "$before" != "$after" ]; then
		say 'the network of this machine is not as before (< before, > now), unless something else changed it:'
		diff <(echo "$before") <(echo "$after") >&2 || true
		status=1
	fi
	exit "$status"
}

# works says whether the engine builds the image of the tests, and runs it on a network, with a port.
works() {
	sh "$here/docker-image.sh" && docker network create trial && docker run --rm --network trial -p 127.0.0.1::6379 redlock-sim-node:1 --version &&
		docker network rm trial
}

if [ "${1-}" = --keep ]; then
	keep
	exit
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo -n"
why='what it needs is not installed'
if ! $sudo true 2>/dev/null; then
	why='it needs root, or sudo without a password'
elif sh "$here/setup.sh" engine; then
	# In a session of its own, Ctrl-C does not reach it.
	coproc keeper { exec setsid -w $sudo bash "$here/docker-engine.sh" --keep; }
	pid=$keeper_PID in=${keeper[1]} out=${keeper[0]}
	end() {
		local status=$?
		trap '' INT TERM HUP
		exec {in}>&-
		wait "$pid" || { [ "$status" != 0 ] || status=1; }
		exit "$status"
	}
	trap end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	read -r why <&"$out" || why='it ended'
fi
unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION
case "$why" in
unix://*)
	export DOCKER_HOST="$why"
	if ! why="$(works 2>&1)"; then
		why="it runs no container: $(tail -n 3 <<<"$why")"
		unset DOCKER_HOST
	fi
	;;
esac
if [ $# != 0 ]; then
	[ -n "${DOCKER_HOST-}" ] || say "no engine, $why; running without it: $*"
	"$@"
elif [ -n "${DOCKER_HOST-}" ]; then
	echo "The engine runs until Ctrl-C. To use it: export DOCKER_HOST=$DOCKER_HOST"
	wait "$pid"
else
	say "no engine: $why"
	exit 1
fi
