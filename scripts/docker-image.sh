#!/bin/sh
# Builds the image of the nodes in Docker from the packages of this machine, so
# that no registry is needed: redis-server, libfaketime and the libraries that
# they load. An argument is the image's name.
set -eu
cd "$(dirname "$0")/.."
image="${1:-redlock-sim-node:1}"

for tool in docker redis-server ldd; do
	command -v "$tool" >/dev/null 2>&1 || { echo "docker-image: $tool is missing; sim doctor says how to get it" >&2; exit 1; }
done
faketime=""
for f in /usr/lib/*/faketime/libfaketime.so.1 /usr/lib64/faketime/libfaketime.so.1; do
	[ -e "$f" ] && faketime="$f"
done
[ -n "$faketime" ] || { echo "docker-image: libfaketime is missing: apt-get install libfaketime" >&2; exit 1; }

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
take() { # take FILE [PLACE]
	mkdir -p "$work/rootfs$(dirname "${2:-$1}")"
	cp -L "$1" "$work/rootfs${2:-$1}"
}
server="$(command -v redis-server)"
take "$server" /usr/bin/redis-server
take "$faketime" /usr/lib/libfaketime.so.1
ldd "$server" "$faketime" | grep -o '/[^ :]*\.so[^ :]*' | sort -u | while read -r library; do
	[ "$library" = "$faketime" ] || take "$library"
done
mkdir -p "$work/rootfs/data" "$work/rootfs/tmp"
chmod 1777 "$work/rootfs/data" "$work/rootfs/tmp"
# The same files give the same image, and the engine finds it in its cache.
find "$work/rootfs" -exec touch -h -d @0 {} +
docker build --quiet --tag "$image" --file deploy/docker/Dockerfile.host "$work" >/dev/null 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
echo "$image"
