#!/bin/sh
# Prints a table: of what searches find in the virtual world, and shrink, how much
# shows again on real Redis, by kind of fault. reproduce.sh SIM [SEARCHES [FOLDER [KIND]]]
set -eu
sim=${1:-bin/sim}
searches=${2:-10}
out=${3:-.cache/reproduce}
only=${4:-}
rm -rf "$out"
mkdir -p "$out"

# kind, property, and a lock that has no defence against it. Nodes need longer to
# start than the virtual world gives them, so leases are long where they are killed.
table() {
	redlock='lock: {algorithm: redlock, ttl: 1s}'
	three="nodes: {count: 3}; $redlock; workload: {clients: 3, sections: 2, start: together, think: 200ms}"
	plain="$redlock; workload: {clients: 3, sections: 2, start: together}"
	reachable='lock: {algorithm: redlock, ttl: 1s, switches: {quorum: reachable}}; workload: {clients: 3, sections: 2, start: together}'
	echo "pause|no-late-effect|$plain"
	echo "pause|exclusive-lease|lock: {algorithm: redlock, ttl: 1s, switches: {recheck_elapsed: false}}; workload: {clients: 3, sections: 2, start: together}"
	echo "kill|exclusive-lease|nodes: {count: 3}; lock: {algorithm: redlock, ttl: 3s}; workload: {clients: 3, sections: 1, start: together, think: 1s}"
	echo "clock|exclusive-lease|$three"
	echo "hold|no-late-effect|$plain"
	echo "stall|no-late-effect|$plain"
	echo "stall|exclusive-lease|lock: {algorithm: redlock, ttl: 1s, switches: {value: per-client}}; workload: {clients: 3, sections: 2, start: together, think: 200ms}"
	echo "latency|no-late-effect|$plain"
	echo "bandwidth|no-late-effect|lock: {algorithm: redlock, ttl: 300ms}; workload: {clients: 3, sections: 2, start: together}"
	echo "cut|exclusive-lease|$reachable"
	echo "reset|exclusive-lease|$reachable"
	echo "limit-data|exclusive-lease|$reachable"
	echo "promote,latency|exclusive-lease|nodes: {count: 3, topology: replicated}; lock: {algorithm: set-nx-px, ttl: 1s}; workload: {clients: 3, sections: 2, start: together, think: 200ms}"
}

echo "| faults | violated | found | shows again | share |"
echo "|---|---|---|---|---|"
table | grep "^$only" | while IFS='|' read -r kinds property text; do
	name=$(echo "$kinds-$property" | tr ',' '-')
	mkdir -p "$out/$name"
	{
		echo "name: $name"
		echo "$text" | sed 's/; /\n/g'
	} >"$out/$name.yaml"
	found=0
	again=0
	i=0
	while [ "$i" -lt "$searches" ]; do
		"$sim" search "$out/$name.yaml" --kinds "$kinds" --property "$property" --seed $((i * 1000000)) \
			--seeds 20000 --for 0s --stop-at 16 --out "$out/$name/$i" >"$out/$name/$i.txt" 2>&1 || true
		i=$((i + 1))
	done
	for f in "$out/$name"/*/*.yaml; do
		[ -e "$f" ] || continue
		found=$((found + 1))
		if timeout 60 "$sim" replay "$f" --world live --out "$out/live" >"$f.txt" 2>&1; then
			again=$((again + 1))
		fi
	done
	echo "| $kinds | $property | $found | $again | $((found ? 100 * again / found : 0)) % |"
done
