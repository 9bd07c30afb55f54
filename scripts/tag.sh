#!/bin/sh
# tag.sh vX.Y.Z: tags this commit as a release, once all that can be asked before was asked. It pushes nothing.
set -eu
fail() { echo "tag: $*" >&2; exit 1; }
tag="${1:-}"
echo "$tag" | grep -Eqx 'v[0-9]+\.[0-9]+\.[0-9]+' || fail "which release? make tag TAG=v1.2.3"
[ -z "$(git status --porcelain --untracked-files=no)" ] || fail "there are changes that are not committed"
[ -z "$(git tag --list "$tag")" ] || fail "there is a tag $tag already"
grep -q "^## \[${tag#v}\] - [0-9]" CHANGELOG.md || fail "CHANGELOG.md has no '## [${tag#v}] - DAY': put there what is under Unreleased"
make release-check # begins with make disclosure
git tag --annotate --message "redlock-sim $tag" "$tag"
echo "tagged $(git rev-parse --short HEAD). Once CI is green for it: git push origin $tag"
