#!/bin/sh
# Installs what live runs need beside sim ("servers"), or with what builds it ("run"), what the tests ("test") or a Docker engine for
# them ("engine") need, where it is missing and we may; says what to install where we may not. What is there and new enough stays, wherever it is from.
set -eu
kind="${1:-run}"
PATH="$PATH:/usr/sbin:/sbin" # not every user has them

missing=""
need() { # need PACKAGE COMMAND-OR-FILE-PATTERN..., of which one is enough
	package="$1"
	shift
	for one; do
		case "$one" in
		/*) for f in $one; do [ -e "$f" ] && return 0; done ;;
		*) command -v "$one" >/dev/null 2>&1 && return 0 ;;
		esac
	done
	missing="$missing $package"
}
least() { # least PACKAGE COMMAND VERSION
	for c in "$2" "/usr/bin/$2"; do
		v="$("$c" --version 2>/dev/null | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1)"
		[ "$(printf '%s\n' "$3" "$v" | sort -V | head -n 1)" = "$3" ] && return 0
	done
	if [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; then
		echo "setup: tests that need $2 $3 or later will not run: here it is older" >&2
	else
		missing="$missing $1"
	fi
}

if [ "$kind" != servers ] && ! command -v go >/dev/null 2>&1; then
	echo "setup: Go is missing. Install Go 1.26 or later from https://go.dev/dl/ and run this again." >&2
	exit 1
fi
need redis-server redis-server
need libfaketime "/usr/lib/*/faketime/libfaketime.so.1" "/usr/lib*/faketime/libfaketime.so.1" /usr/local/lib/faketime/libfaketime.so.1
case "$kind" in
test)
	need chromium chromium chromium-browser google-chrome google-chrome-stable chrome
	least nodejs node 18.0
	least python3 python3 3.9
	least ruby ruby 3.0
	least php-cli php 8.1
	least default-jdk-headless javac 17.0
	need gcc gcc # the race detector needs cgo
	need libc6-dev /usr/include/stdlib.h
	need etcd-server etcd
	need postgresql postgres "/usr/lib/postgresql/*/bin/postgres"
	# Libraries for the interpreters in /usr/bin, which the tests of adapters name.
	need python3-venv "/usr/lib/python3*/ensurepip/__init__.py" # what a job installs is to go somewhere
	need python3-redis /usr/lib/python3/dist-packages/redis/lock.py
	need php-redis "/usr/lib/php/*/redis.so"
	need php-symfony-lock /usr/share/php/Symfony/Component/Lock/Lock.php
	need python3-tooz /usr/lib/python3/dist-packages/tooz/drivers/redis.py
	need node-redis /usr/share/nodejs/redis/package.json
	need ruby-redis "/usr/share/rubygems-integration/all/gems/redis-*"
	;;
engine)
	need docker.io dockerd
	! apt-cache show docker-cli >/dev/null 2>&1 || need docker-cli docker # elsewhere docker.io has it
	need iptables iptables-save
	need iproute2 ip
	need procps sysctl
	;;
esac

[ -z "$missing" ] && exit 0

cannot() { # cannot WHY: nearly all tests need a Redis whose clock can be moved, and some need one of the others
	echo "setup: cannot install what is missing. $1 By hand: apt-get install$missing" >&2
	case "$kind $missing " in
	*" redis-server "* | *" libfaketime "*) exit 1 ;;
	"test "*) echo "setup: tests that need one of these will not run" >&2 && exit 0 ;;
	esac
	exit 1
}
sudo=""
if ! command -v apt-get >/dev/null 2>&1; then
	cannot "This machine has no apt-get."
elif [ "$(id -u)" = 0 ]; then
	:
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
	sudo="sudo -n"
else
	cannot "That needs root, or a sudo that asks for no password."
fi
echo "setup: installing$missing"
# The packages would start servers of their own; we start ours.
policy=""
if [ ! -e /usr/sbin/policy-rc.d ]; then
	policy=/usr/sbin/policy-rc.d
	printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
	$sudo chmod +x "$policy"
fi
log=$(mktemp "${TMPDIR:-/tmp}/redlock-sim-setup.XXXXXX")
trap '[ -z "$policy" ] || $sudo rm -f "$policy"; rm -f "$log"' EXIT
trap 'exit 130' INT TERM HUP
install() {
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
}
known() {
	unknown=""
	for package in $missing; do
		apt-get install --simulate --no-install-recommends "$package" >/dev/null 2>&1 || unknown="$unknown $package"
	done
	[ -z "$unknown" ]
}
# The lists of packages may be absent or old, and one source of them may be out of order.
if ! { known && install; } >"$log" 2>&1; then
	$sudo apt-get update -qq >>"$log" 2>&1 || true
	if ! known && [ "$kind" = test ]; then
		echo "setup: tests that need one of these will not run, this system has no package of it:$unknown" >&2
		for package in $unknown; do
			missing="$(echo " $missing " | sed "s/ $package / /")"
		done
	fi
	if ! install >>"$log" 2>&1; then
		echo "setup: apt-get failed; its last words:" >&2
		tail -n 15 "$log" >&2
		exit 1
	fi
fi
case "$missing" in
*docker.io*) $sudo systemctl disable docker.service docker.socket >/dev/null 2>&1 || true ;; # nobody asked for an engine at each boot
esac
