#!/bin/sh
# Prints a table: whether `sim search --lock` finds each of eleven mistakes in virtual time, from nothing but the program: no scenario, no
# kinds of faults, no property. virtual-detection.sh SIM [SEEDS [FOLDER [LONGEST [ONLY]]]]
# A mistake counts as found if what was found is confirmed and shrunk within a minute of two processors, 120 s of processor time. LONGEST
# bounds a search where other work slows it. It does not count if the lock without the
# mistake shows the same with that schedule. A search that FOLDER has is not made again. "none" is the lock without a mistake.
set -eu
sim=$(readlink -f "${1:-bin/sim}")
seeds=${2:-10}
out=${3:-.cache/virtual-detection}
longest=${4:-60s}
only=${5:-}
budget=120
root=$PWD
mkdir -p "$out"

mistakes() {
	for language in go python; do
		for mistake in quorum recheck_elapsed release value node_error clean_up none; do echo "$language redlock $mistake"; done
		for mistake in extend stop_renewal none; do echo "$language watchdog $mistake"; done
		for mistake in extend_needs_quorum none; do echo "$language redlock-extend $mistake"; done
		for mistake in token_after_grant none; do echo "$language set-nx-px $mistake"; done
		for mistake in check_wait none; do echo "$language set-nx-wait $mistake"; done
	done
}

command_of() { # language, lock, mistake
	case "$1 $3" in
	"go none") echo "$sim lock $2" ;;
	go*) echo "$sim lock $2 --switch $3" ;;
	"python none") echo "/usr/bin/python3 $root/scripts/mistakes.py $2" ;;
	*) echo "/usr/bin/python3 $root/scripts/mistakes.py $2 $3" ;;
	esac
}

# found are the lines of a search about what was confirmed by new processes, and by the nodes.
found() { grep '^  found .* fails with ' "$1" | grep -v 'not shown\|word alone' || true; }

# seconds adds up what `times` tells of the processes of a shell: user and system.
seconds() { tail -1 "$1" | sed 's/[ms]/ /g' | awk '{ printf "%.0f", $1 * 60 + $2 + $3 * 60 + $4 }'; }

seed=1
while [ "$seed" -le "$seeds" ]; do
	mistakes | grep -e "$only" | while read -r language lock mistake; do
		one="$out/$language-$lock-$mistake-$seed"
		[ -s "$one.txt" ] && continue
		(
			"$sim" search --lock "$(command_of "$language" "$lock" "$mistake")" --seed $((seed * 1000000)) --for "$longest" --stop-at 1 \
				--out "$one" </dev/null || true
			times
		) >"$one.new" 2>&1
		# The same schedule, and the lock without the mistake: it must not show.
		file=$(found "$one.new" | sed -n '1s/^  found *\([^ ]*\.yaml\).*/\1/p')
		if [ -n "$file" ] && [ "$mistake" != none ]; then
			sed "/^lock:/ { s/, \"--switch\"//; s/, \"*$mistake\"*\]/]/; }" "$file" >"$one/control"
			mv "$one/control" "$one.control.yaml"
			"$sim" replay "$one.control.yaml" --allow-programs --out "$one/control" </dev/null 2>&1 |
				sed -n 's/^ .*violated, as expected$/&/p' >"$one.control" || true
		fi
		mv "$one.new" "$one.txt"
	done
	seed=$((seed + 1))
done

# spread is the median of some numbers, the least and the most.
spread() { for n in $1; do echo "$n"; done | sort -n | awk '{ n[NR] = $1 } END { printf "%d (%d to %d)", n[int((NR + 1) / 2)], n[1], n[NR] }'; }

echo "| mistake | lock | language | found | property | runs | processor time (s) |"
echo "|---|---|---|---|---|---|---|"
mistakes | grep -e "$only" | while read -r language lock mistake; do
	count=0 made=0 properties='' runs='' took=''
	for file in "$out/$language-$lock-$mistake"-*.txt; do
		[ -s "$file" ] || continue
		made=$((made + 1))
		cpu=$(seconds "$file")
		took="$took $cpu"
		runs="$runs $(sed -n 's/^search .* \([0-9,]*\) runs* in .*/\1/p' "$file" | head -1 | tr -d ,)"
		if [ ! -s "${file%.txt}.control" ] && [ -n "$(found "$file")" ] && [ "$cpu" -le $budget ]; then
			count=$((count + 1))
			properties="$properties $(found "$file" | sed -n '1s|.*/search-\([a-z-]*\)-[0-9]*\.yaml.*|\1|p')"
		fi
	done
	[ "$made" -gt 0 ] || continue
	properties=$(for p in $properties; do echo "$p"; done | sort | uniq -c | sort -rn | awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $2, $1 }')
	echo "| $mistake | $lock | $language | $count of $made | $properties | $(spread "$runs") | $(spread "$took") |"
done
