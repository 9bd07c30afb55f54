#!/bin/sh
# Prints a table: what `sim search --lock` finds in a minute in each library of adapters/, from nothing but the program, and how many runs a
# second it makes. adapters-search.sh SIM [FOLDER [FOR [ONLY]]]
# One search after the other, with seed 1. A search that FOLDER has is not made again. `make adapters` builds the Go programs.
set -eu
sim=$(readlink -f "${1:-bin/sim}")
out=${2:-.cache/adapters-search}
long=${3:-60s}
only=${4:-}
mkdir -p "$out"

programs() { # name, command; what is found is confirmed by keys in Redis
	sed -n 's/.*"name": "\([^"]*\)".*"command": "\([^"]*\)".*/\1 \2/p' adapters/libraries.json | grep -v -e '^advisory ' -e '^etcd ' -e '^curator ' -e '^kazoo ' -e '^nats-kv '
}

# seconds adds up what `times` tells of the processes of a shell: user and system.
seconds() { tail -1 "$1" | sed 's/[ms]/ /g' | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }'; }

programs | grep -e "$only" | while read -r name command; do
	[ -s "$out/$name.txt" ] && continue
	(
		"$sim" search --lock "$command" --seed 1 --for "$long" --out "$out/$name" </dev/null || true
		times
	) >"$out/$name.new" 2>&1
	mv "$out/$name.new" "$out/$name.txt"
done

echo "| program | runs | a second | a second of processor time | found |"
echo "|---|---|---|---|---|"
programs | while read -r name command; do
	[ -s "$out/$name.txt" ] || continue
	runs=$(sed -n 's/^search .* \([0-9,]*\) runs\{0,1\} in .*/\1/p' "$out/$name.txt" | tr -d ,)
	rate=$(sed -n 's/^search .*(\(.*\) runs\/s).*/\1/p' "$out/$name.txt")
	# What is not shown by new processes is none of the library's.
	found=$(grep -v 'mistake of sim' "$out/$name.txt" | sed -n 's/^  found .*search-\([a-z-]*\)-[0-9]*.yaml .*/`\1`/p' | sort -u | paste -sd, - | sed 's/,/, /g')
	echo "| $name | ${runs:--} | ${rate:--} | $(seconds "$out/$name.txt" | awk -v n="${runs:-0}" '{ printf "%.1f", n / ($1 + 0.001) }') | ${found:--} |"
done
