#!/bin/sh
# release-files.sh FOLDER VERSION: writes what a release has beside the program: man pages,
# completions, and the licences of all that is linked in.
set -eu
out=$1
export CGO_ENABLED=0
rm -rf "$out"
mkdir -p "$out/completions"
go build -trimpath -ldflags "-X main.version=$2" -o "$out/sim" ./cmd/sim
"$out/sim" man "$out/man"
"$out/sim" completion bash >"$out/completions/sim.bash"
"$out/sim" completion fish >"$out/completions/sim.fish"
"$out/sim" completion powershell >"$out/completions/sim.ps1"
"$out/sim" completion zsh >"$out/completions/sim.zsh"
rm "$out/sim"

licences() { # licences NAME FOLDER...: each licence that is in these folders
	echo "==== $1"
	shift
	found=
	for file in $(for dir; do find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'patents*' \); done | sort -u); do
		found=yes
		echo "---- $(basename "$file")"
		cat "$file"
		echo
	done
	[ -n "$found" ] || { echo "release-files: no licence in $*" >&2; exit 1; }
}

{
	echo "sim contains these programs and libraries, under these licences."
	echo
	licences "Go $(go env GOVERSION)" "$(go env GOROOT)"
	for system in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do
		GOOS=${system%/*} GOARCH=${system#*/} go list -deps \
			-f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}} {{$.Dir}}{{end}}{{end}}' ./cmd/sim
	done | sort -u | awk '{ m = $1 " " $2; if (!(m in at)) { order[++n] = m; at[m] = $3 } at[m] = at[m] " " $4 } END { for (i = 1; i <= n; i++) print order[i] " " at[order[i]] }' |
		while read -r path version folders; do
			licences "$path $version" $folders
		done
} >"$out/THIRD-PARTY-LICENCES"
