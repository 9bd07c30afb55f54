#!/bin/sh
# Builds and tests with every direct dependency at its newest, in a copy: go.mod asks for the lowest
# versions that work. The maintainers' programs are built, too.
set -eu
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT INT TERM
git ls-files -z | xargs -0 tar cf - | tar xf - -C "$copy"
cd "$copy"
go get $(go list -m -f '{{if not (or .Indirect .Main)}}{{.Path}}@upgrade{{end}}' all)
go list -m github.com/redis/go-redis/v9
(cd locktest/testdata/libraries && go mod tidy) # its tests run with this go.mod beside its own
go vet ./...
(
	cd tools
	go mod tidy # the root's dependencies are others by now
	go get $(go list -m -f '{{if not (or .Indirect .Main .Replace)}}{{.Path}}@upgrade{{end}}' all)
	go mod tidy
	go vet ./...
)
go test -skip TestLeastRedis "$@"
