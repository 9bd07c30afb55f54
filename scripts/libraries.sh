#!/bin/sh
# Brings the lock libraries that the programs in adapters/node, adapters/python, adapters/java, adapters/rust, adapters/dapr, adapters/nats and adapters/php
# put on trial, and the servers ZooKeeper and NATS, into a folder, in the versions that these folders name: libraries.sh [FOLDER]
# npm, pip, Maven, Cargo, Go and, for those of PHP, Debian's apt-get fetch them from where they are configured to. Nothing is installed elsewhere, so any user can do this. What is there already
# stays. What cannot be had is named, with the reason, and the others come all the same: exit code 1 at the end.
set -eu
cd "$(dirname "$0")/.."
libraries=${1:-.cache/libraries}
mkdir -p "$libraries"
libraries=$(cd "$libraries" && pwd)
log=$(mktemp "${TMPDIR:-/tmp}/redlock-sim-libraries.XXXXXX")
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM HUP
missing=0

# bring NAME TOOL FILE... -- COMMAND...: runs the command, which fills the folder $libraries/NAME, if it was not filled with the same FILEs.
bring() {
	name=$1 tool=$2
	shift 2
	wanted=
	while [ "$1" != -- ]; do
		wanted="$wanted$(cat "$1")"
		shift
	done
	shift
	if [ -f "$libraries/$name/complete" ] && [ "$(cat "$libraries/$name/complete")" = "$wanted" ]; then
		echo "libraries: $libraries/$name"
		return
	fi
	rm -rf "${libraries:?}/$name"
	mkdir -p "$libraries/$name"
	why=
	command -v "$tool" >/dev/null 2>&1 || why="$tool is missing"
	[ -n "$why" ] || "$@" >"$log" 2>&1 || why="$tool does not bring them; is its registry reached?"
	if [ -n "$why" ]; then
		missing=1
		echo "libraries: those of $name cannot be had here: $why" >&2
		[ ! -s "$log" ] || tail -n 5 "$log" | sed 's/^/libraries:   /' >&2
		return
	fi
	printf '%s\n' "$wanted" >"$libraries/$name/complete"
	echo "libraries: $libraries/$name"
}

from_npm() {
	cp adapters/node/package.json adapters/node/package-lock.json adapters/node/.npmrc "$libraries/node/"
	npm ci --prefix "$libraries/node" --loglevel error
}

from_pip() { # from_pip NAME REQUIREMENTS: for the python3 that the programs find
	python3 -m pip --disable-pip-version-check install --quiet --no-deps --no-warn-conflicts --root-user-action ignore \
		--target "$libraries/$1" --requirement "$2"
}

jars() { # jars NAME POM
	cp "$2" "$libraries/$1/pom.xml"
	mvn --quiet --batch-mode --file "$libraries/$1/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=lib
}

from_maven() {
	jars java adapters/java/pom.xml &&
		javac -nowarn -cp "$libraries/java/lib/*" -sourcepath sdk/java -d "$libraries/java/classes" adapters/java/*.java
}

from_cargo() { # builds the programs, which takes a minute, and brings the library's documentation
	manifest=adapters/rust/Cargo.toml
	cargo build --quiet --locked --release --manifest-path $manifest --target-dir "$libraries/rust/target" &&
		mv "$libraries/rust/target/release/rslock" "$libraries/rust/" && rm -rf "$libraries/rust/target" &&
		source=$(cargo metadata --locked --offline --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" --format-version 1 --manifest-path $manifest | grep -o '[^"]*/rslock-[0-9.]*/Cargo.toml' | head -n 1) &&
		mkdir "$libraries/rust/doc" && cp "${source%/*}/README.md" "${source%/*}/src/lock.rs" "$libraries/rust/doc/"
}

from_go() { # Dapr's components have many dependencies, which the other programs in Go do not need
	CGO_ENABLED=0 go build -C adapters/dapr -trimpath -o "$libraries/dapr/dapr" .
}

from_nats() { # its server is a program in Go, too
	CGO_ENABLED=0 go build -C adapters/nats -trimpath -o "$libraries/nats/nats-kv" . &&
		CGO_ENABLED=0 go build -C adapters/nats -trimpath -o "$libraries/nats/nats-server" github.com/nats-io/nats-server/v2
}

from_debian() { # unpacks packages, and installs none
	packages=$(cat adapters/php/packages.txt)
	(cd "$libraries/php" && apt-get download -qq $packages && for p in ./*.deb; do dpkg-deb -x "$p" . || exit 1; done && rm -f ./*.deb)
}

bring java mvn adapters/java/pom.xml adapters/java/*.java sdk/java/*.java -- from_maven
bring zookeeper mvn adapters/java/zookeeper.xml -- jars zookeeper adapters/java/zookeeper.xml
bring python python3 adapters/python/requirements.txt -- from_pip python adapters/python/requirements.txt
bring aioredlock python3 adapters/python/aioredlock.txt -- from_pip aioredlock adapters/python/aioredlock.txt
bring redlock-ng python3 adapters/python/redlock-ng.txt -- from_pip redlock-ng adapters/python/redlock-ng.txt
bring rust cargo adapters/rust/Cargo.toml adapters/rust/Cargo.lock adapters/rust/*.rs sdk/rust/*.rs -- from_cargo
bring dapr go adapters/dapr/go.mod adapters/dapr/go.sum adapters/dapr/main.go adapter/adapter.go adapter/serve.go -- from_go
bring nats go adapters/nats/go.mod adapters/nats/go.sum adapters/nats/main.go adapter/adapter.go adapter/serve.go -- from_nats
bring php apt-get adapters/php/packages.txt -- from_debian
bring node npm adapters/node/package.json adapters/node/package-lock.json -- from_npm
exit $missing
