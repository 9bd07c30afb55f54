#!/bin/sh
# Installs what live runs ("run") or the tests ("test") need, where it is
# missing and we may; says what to install where we may not.
set -eu

missing=""
need() { # need COMMAND-OR-FILE-PATTERN PACKAGE
	case "$1" in
	/*) for f in $1; do [ -e "$f" ] && return 0; done ;;
	*) command -v "$1" >/dev/null 2>&1 && return 0 ;;
	esac
	missing="$missing $2"
}

if ! command -v go >/dev/null 2>&1; then
	echo "setup: Go is missing. Install Go 1.26 or later from https://go.dev/dl/ and run this again." >&2
	exit 1
fi
need redis-server redis-server
need "/usr/lib/*/faketime/libfaketime.so.1" libfaketime
if [ "${1:-run}" = test ]; then
	need chromium chromium
	need node nodejs
	need ruby ruby
	need php php-cli
	need etcd etcd-server
	need /usr/lib/python3/dist-packages/redis/lock.py python3-redis
	need "/usr/lib/php/*/redis.so" php-redis
	need /usr/share/php/Symfony/Component/Lock/Lock.php php-symfony-lock
	need /usr/lib/python3/dist-packages/tooz/drivers/redis.py python3-tooz
	need /usr/share/nodejs/redis/package.json node-redis
	need "/usr/share/rubygems-integration/all/gems/redis-*" ruby-redis
	need "/usr/lib/postgresql/*/bin/postgres" postgresql
fi

[ -z "$missing" ] && exit 0

sudo=""
if [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
		sudo="sudo -n"
	else
		echo "setup: please install:$missing" >&2
		echo "setup:   sudo apt-get install -y$missing" >&2
		exit 1
	fi
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: this machine has no apt-get; please install:$missing" >&2
	exit 1
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# The package would start a server of its own on port 6379; we start ours.
policy=""
if [ ! -e /usr/sbin/policy-rc.d ]; then
	policy=/usr/sbin/policy-rc.d
	printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
	$sudo chmod +x "$policy"
fi
log=$(mktemp "${TMPDIR:-/tmp}/redlock-sim-setup.XXXXXX")
trap '[ -z "$policy" ] || $sudo rm -f "$policy"; rm -f "$log"' EXIT
trap 'exit 130' INT TERM HUP
status=0
{ $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1 || status=$?
if [ "$status" != 0 ]; then
	echo "setup: apt-get failed; its last words:" >&2
	tail -n 15 "$log" >&2
	exit 1
fi
