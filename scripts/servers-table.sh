#!/bin/sh
# Prints the table of docs/reference/nodes.md: all shipped scenarios in virtual time, each run made twice, on the redis-server on PATH and on each
# server that `make servers` has brought. servers-table.sh [SIM [FOLDER [SEED]]]
# A row that FOLDER has is not measured again. What is not as expected is named on stderr (exit code 1), with the file that tells of it.
set -eu
sim=${1:-bin/sim}
out=${2:-.cache/servers-table}
seed=${3:-1}
mkdir -p "$out"
bad=0
for server in "$(command -v redis-server || true)" .cache/servers/*/*-server; do
	[ -x "$server" ] || continue
	# "Redis server v=7.0.15 sha=...", "Valkey server v=9.1.2 sha=..."
	name=$("$server" --version | sed -n 's/^\([A-Za-z]*\) server v=\([0-9.]*\) .*/\1 \2/p')
	row="$out/$(echo "$name $seed" | tr ' A-Z' '_a-z')"
	if [ ! -s "$row.row" ]; then
		"$sim" run all --world virtual --nodes process --twice --seed "$seed" --redis "$server" --out "$row" >"$row.txt" 2>&1 || true
		last=$(tail -n 1 "$row.txt")
		count() { echo "$last" | sed -n "s/.*[ ,]\([0-9.]*\) $1.*/\1/p"; }
		case "$last" in
		"DONE "*" 0 unexpected, 0 undecided,"*)
			echo "| $name | $(count 'scenarios*') | $(count 'variants*') | $(count 'not applicable') | $(echo "$last" | sed 's/.* in //') |" >"$row.row"
			;;
		*)
			bad=1
			echo "$name: $last (see $row.txt)" >&2
			continue
			;;
		esac
	fi
done
echo '| server | scenarios | variants | not applicable | time |'
echo '|---|---|---|---|---|'
sort -V "$out"/*_"$seed".row
exit $bad
