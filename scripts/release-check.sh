#!/bin/sh
# release-check.sh FOLDER: sees that the archives and packages of a release are whole, that each program has its list of what it was
# built from, and that the program for this machine runs, says its version, and has the playground in it.
set -eu
cd "$1"
fail() { echo "release-check: $*" >&2; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
sha256sum --check --quiet checksums.txt
version=$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' metadata.json)
for system in linux_amd64 linux_arm64 darwin_amd64 darwin_arm64 windows_amd64; do
	name=redlock-sim_${version}_$system
	case $system in
	windows_*) archive=$name.zip program=sim.exe && python3 -m zipfile -e "$archive" "$tmp" ;;
	*) archive=$name.tar.gz program=sim && tar -xzf "$archive" -C "$tmp" ;;
	esac
	for listed in $archive $name.cdx.json; do
		grep -q " $listed\$" checksums.txt || fail "$listed has no checksum"
	done
	grep -q '"name": "github.com/redis/go-redis/v9"' "$name.cdx.json" || fail "$name.cdx.json does not list what $program was built from"
	for file in $program LICENSE THIRD-PARTY-LICENCES man/sim.1 man/sim-run.1 \
		completions/sim.bash completions/sim.fish completions/sim.ps1 completions/sim.zsh; do
		[ -s "$tmp/$name/$file" ] || fail "$archive has no $file"
	done
	for setting in GOOS="${system%_*}" GOARCH="${system#*_}" -trimpath=true; do
		go version -m "$tmp/$name/$program" | grep -q "build	$setting\$" || fail "$program in $archive was not built with $setting"
	done
done
for arch in amd64 arm64; do
	package=redlock-sim_${version}_linux_$arch
	for listed in $package.deb $package.rpm; do
		grep -q " $listed\$" checksums.txt || fail "$listed has no checksum"
	done
	dpkg-deb --fsys-tarfile "$package.deb" | tar -t >"$tmp/deb"
	if command -v rpm >/dev/null; then
		rpm --query --list --package "$package.rpm" | sed 's,^,.,' >"$tmp/rpm"
		rpm --query --recommends --package "$package.rpm" | grep -q '^redis$' || fail "$package.rpm does not recommend Redis"
	else
		echo 'release-check: rpm is missing, so nobody looked into the rpm' >&2
		cp "$tmp/deb" "$tmp/rpm"
	fi
	for file in bin/sim share/man/man1/sim-run.1 share/bash-completion/completions/sim share/doc/redlock-sim/copyright; do
		for kind in deb rpm; do
			grep -qx "./usr/$file" "$tmp/$kind" || fail "$package.$kind has no /usr/$file"
		done
	done
	dpkg-deb --field "$package.deb" Recommends | grep -q redis-server || fail "$package.deb does not recommend Redis"
done
dpkg-deb --extract "redlock-sim_${version}_linux_$(go env GOHOSTARCH).deb" "$tmp/installed"
"$tmp/installed/usr/bin/sim" --version | grep -q "^sim v$version " || fail "the program in the deb says another version than v$version"
cd "$tmp"
sim=$tmp/redlock-sim_${version}_$(go env GOHOSTOS)_$(go env GOHOSTARCH)/sim
"$sim" --version | grep "^sim v$version " || fail "it says another version than v$version"
env -i HOME="$tmp" PATH=/nowhere "$sim" play -o "$tmp/playground.html" || fail "it has no playground in it" # without Go it compiles none
"$sim" run gc-pause --world virtual --out "$tmp/reports" | tail -n 1
