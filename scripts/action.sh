#!/bin/sh
# What action.yml does before it runs sim: it installs Redis and libfaketime where they are missing, and puts sim into $FOLDER/bin.
# Where $REF (a tag, or a commit) is a release, sim is the program of that release, if GitHub's attestation says that it was made from the
# commit of the release. Else sim is built from the sources of the action.
set -eu
# Whose releases are trusted. It is no input and no variable of the job: a fork that releases by itself changes it here (CONTRIBUTING.md).
repository=redlock-sim/redlock-sim
sources="$(cd "$(dirname "$0")/.." && pwd)"
sh "$sources/scripts/setup.sh" servers

download() {
	server="https://github.com/$repository"
	# Lines of "COMMIT refs/tags/TAG"; a second one, for TAG^{}, has the commit of a tag that is an object of its own.
	[ -n "$REF" ] || return 1 # the action of a workflow in its own repository
	tags="$(GIT_TERMINAL_PROMPT=0 git ls-remote --tags "$server")" || return 1
	# shellcheck disable=SC2046 # two words, or none
	set -- $(echo "$tags" | awk -v ref="$REF" '
		{ sub("refs/tags/", "", $2); peeled = sub(/\^\{\}$/, "", $2); if (peeled || !($2 in commit)) commit[$2] = $1 }
		END { for (tag in commit) if (tag ~ /^v[0-9]+\.[0-9]+\.[0-9]+$/ && (tag == ref || commit[tag] == ref)) { print tag, commit[tag]; exit } }')
	[ $# = 2 ] || { echo "$REF is no release of $repository"; return 1; }
	case "$(uname -s) $(uname -m)" in
	"Linux x86_64") system=linux_amd64 ;;
	"Linux aarch64") system=linux_arm64 ;;
	*) echo "a release has no program for $(uname -s) $(uname -m)"; return 1 ;;
	esac
	name="redlock-sim_${1#v}_$system"
	curl --fail --silent --show-error --location --retry 3 --max-time 120 --output "$temp/$name.tar.gz" \
		"$server/releases/download/$1/$name.tar.gz" || return 1
	gh attestation verify "$temp/$name.tar.gz" --repo "$repository" --source-digest "$2" --source-ref "refs/tags/$1" \
		--signer-workflow "$repository/.github/workflows/release.yml" --deny-self-hosted-runners || return 1
	tar -xzf "$temp/$name.tar.gz" -C "$temp" || return 1
	mv "$temp/$name/sim" "$FOLDER/bin/sim"
}

build() {
	command -v go >/dev/null || { echo "action: Go is missing: put actions/setup-go before this action" >&2; exit 1; }
	cd "$sources"
	CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off GOTOOLCHAIN=auto go build -trimpath -ldflags "-X main.version=${REF:-dev}" -o "$FOLDER/bin/sim" ./cmd/sim
}

mkdir -p "$FOLDER/bin"
temp="$(mktemp -d)"
trap 'rm -rf "$temp"' EXIT
download || { echo "sim is built from its sources"; build; }
"$FOLDER/bin/sim" --version
