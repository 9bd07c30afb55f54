#!/bin/sh
# release-check.sh FOLDER: sees that the archives of a release are whole, and that the program
# for this machine runs, says its version, and has the playground in it.
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
	grep -q " $archive\$" checksums.txt || fail "$archive has no checksum"
	for file in $program LICENSE THIRD-PARTY-LICENCES man/sim.1 man/sim-run.1 \
		completions/sim.bash completions/sim.fish completions/sim.ps1 completions/sim.zsh; do
		[ -s "$tmp/$name/$file" ] || fail "$archive has no $file"
	done
	for setting in GOOS="${system%_*}" GOARCH="${system#*_}" -trimpath=true; do
		go version -m "$tmp/$name/$program" | grep -q "build	$setting\$" || fail "$program in $archive was not built with $setting"
	done
done
cd "$tmp"
sim=$tmp/redlock-sim_${version}_$(go env GOHOSTOS)_$(go env GOHOSTARCH)/sim
"$sim" --version | grep "^sim v$version " || fail "it says another version than v$version"
env -i HOME="$tmp" PATH=/nowhere "$sim" play -o "$tmp/playground.html" || fail "it has no playground in it" # without Go it compiles none
"$sim" run gc-pause --world virtual --out "$tmp/reports" | tail -n 1
