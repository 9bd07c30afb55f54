#!/bin/sh
# Prints a table: how soon a search among real servers finds each mistake of the built-in locks, behind
# the lock protocol. detection.sh SIM [SEARCHES [FOLDER [SWITCH]]]
set -eu
sim=$(readlink -f "${1:-bin/sim}")
searches=${2:-5}
out=${3:-.cache/detection}
only=${4:-}
longest=10m
rm -rf "$out"
mkdir -p "$out"

# switch, lock, property, kinds of faults ("-": those that a lock on Redis is meant to survive), and the
# scenario ("-": the one that sim takes for the lock).
table() {
	retry='node_timeout: 50ms, retry: {attempts: 20, delay: 20ms, jitter: 20ms}'
	three='nodes: {count: 3, persistence: aof-no}; workload: {clients: 2, sections: 3, start: together, think: 50ms}; time_limit: 12s'
	echo "quorum|redlock|exclusive-lease|-|-"
	echo "recheck_elapsed|redlock|exclusive-lease|-|-"
	echo "release|redlock|owner-release|-|-"
	echo "value|redlock|exclusive-lease|-|lock: {algorithm: redlock, ttl: 400ms, node_timeout: 20ms, retry: {attempts: 30, delay: 2ms, jitter: 20ms}}; nodes: {count: 1, persistence: aof-no}; workload: {clients: 2, sections: 6, start: together, think: 60ms}; time_limit: 12s"
	echo "token_after_grant|redlock|ordered-tokens|-|lock: {algorithm: redlock, ttl: 200ms, node_timeout: 50ms, retry: {attempts: 40, delay: 20ms, jitter: 20ms}}; fencing: {tokens: quorum-counter}; nodes: {count: 1, persistence: aof-no}; workload: {clients: 2, sections: 4, start: together, think: 30ms}; time_limit: 12s"
	echo "node_error|redlock|minority-tolerant|-|lock: {algorithm: redlock, ttl: 500ms, $retry}; grant_within: 600ms; $three"
	echo "clean_up|redlock|deadlock-free|lose-answer|lock: {algorithm: redlock, ttl: 2s, $retry}; grant_within: 500ms; $(echo "$three" | sed 's/count: 3/count: 1/; s/sections: 3/sections: 2/')"
	echo "extend|watchdog|no-resurrection|-|-"
	echo "stop_renewal|watchdog|no-orphan-lock|-|-"
	echo "extend_needs_quorum|redlock-extend|exclusive-lease|-|lock: {algorithm: redlock-extend, ttl: 400ms, $retry}; $(echo "$three" | sed 's/sections: 3/sections: 2/; s/think: 50ms/think: 1s/')"
	echo "check_wait|set-nx-wait|exclusive-lease|promote,hold,cut,hold-message,lose-answer|lock: {algorithm: set-nx-wait, ttl: 400ms, node_timeout: 40ms, retry: {attempts: 20, delay: 20ms, jitter: 20ms}}; nodes: {count: 2, topology: replicated, persistence: aof-no}; workload: {clients: 2, sections: 3, start: together, think: 100ms}; time_limit: 12s"
}

echo "| switched off | lock | property | found | within (s) | runs | shows again, of 10 | with the rule, of 3 |"
echo "|---|---|---|---|---|---|---|---|"
table | grep "^$only" | while IFS='|' read -r switch lock property kinds text; do
	set -- --world live --lock "$sim lock $lock --switch $switch" --property "$property" --for $longest --stop-at 1
	[ "$kinds" = - ] || set -- "$@" --kinds "$kinds"
	if [ "$text" != - ]; then
		{
			echo "name: $switch" | tr _ -
			echo "$text" | sed 's/; /\n/g'
		} >"$out/$switch.yaml"
		set -- "$@" "$out/$switch.yaml"
	fi
	found=0 within='' runs='' rates='' control=''
	i=0
	while [ "$i" -lt "$searches" ]; do
		dir="$out/$switch/$i"
		mkdir -p "$dir"
		"$sim" search "$@" --seed $((i * 1000000)) --out "$dir" >"$dir.txt" 2>&1 || true
		file=$(ls "$dir"/*-live.yaml 2>/dev/null | head -1 || true)
		rate=$(sed -n 's/.*shows in \([0-9]*\) of 10 runs.*/\1/p' "$dir.txt" | head -1)
		if [ -n "$rate" ]; then
			found=$((found + 1))
			rates="$rates $rate"
			within="$within $(sed -n 's/.* in \([0-9]*\)[0-9.]* s (.*/\1/p' "$dir.txt" | head -1)"
			runs="$runs $(sed -n 's/^.*   \([0-9,]*\) runs* in .*/\1/p' "$dir.txt" | head -1 | tr -d ,)"
			# The same schedule, and the lock without the mistake: it must not show.
			sed "s/, \"--switch\", \"*$switch\"*//" "$file" >"$dir/control.yaml"
			timeout 120 "$sim" run "$dir/control.yaml" --allow-programs --tries 3 --out "$dir/control" >"$dir/control.txt" 2>&1 || true
			control="$control $(grep -c "$property .*violated, as expected\|violated, as expected" "$dir/control.txt" || true)"
		fi
		i=$((i + 1))
	done
	echo "| $switch | $lock | $property | $found of $searches |$within |$runs |$rates |$control |"
done
