#!/bin/sh
# Writes the actions and images of cmd/sim/start/pins.txt wherever a workflow or a page names them. To change one, change it there.
set -eu
cd "$(dirname "$0")/.."
script="$(awk '
	/^#/ { next }
	NF == 3 { name = $1; gsub(/[.]/, "\\.", name); printf "s|(uses: %s(/[a-z/-]+)?)@.*|\\1@%s # %s|\n", name, $3, $2 }
	NF == 1 { split($1, part, ":"); printf "s#(image: *|^ARG BASE=|^FROM )%s:[a-z0-9.@:-]+#\\1%s#\n", part[1], $1 }' cmd/sim/start/pins.txt)"
sed -i -E "$script" action.yml .github/workflows/*.yml docs/guide/ci.md docs/zh/guide/ci.md docs/reference/audit.md deploy/*/Dockerfile*
awk '!/^#/ && NF == 1 && !/@sha256:/ { print "not pinned to a digest: " $1 }' cmd/sim/start/pins.txt
