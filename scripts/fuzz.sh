#!/bin/sh
# Runs every fuzz target of the project for a while: fuzz.sh DURATION
set -eu
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-30s}" "$package"
	done
done
