#!/usr/bin/env bash
# What does a look cost a Redis server at full load? scripts/observe-cost.sh [ROUNDS] [REQUESTS] prints how much processor time the server takes for
# a command, and how many a second redis-benchmark gets through, without a look and with each kind, in turns: the middle of the rounds. On a
# machine that has other work, the processor time says more. It needs redis-server, redis-benchmark and bin/sim (make build), and starts a
# server of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-5} requests=${2:-200000}
folder=$(mktemp -d)
port=$((20000 + RANDOM % 10000))
pids=()
end() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$folder"
}
trap end EXIT

redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$folder" >"$folder/server.log" &
pids+=($!)
until redis-cli -p "$port" ping >/dev/null 2>&1; do sleep 0.1; done
# Somebody takes locks meanwhile, as fast as one client can.
redis-benchmark -p "$port" -c 1 -l -q -r 1000 SET lock:__rand_int__ owner NX PX 50 >/dev/null 2>&1 &
pids+=($!)

# used prints the server's processor time, in us, and the commands that it has carried out.
used() {
	redis-cli -p "$port" info | tr -d '\r' | awk -F: '/^used_cpu_(sys|user):/ {t += $2} /^total_commands_processed:/ {n = $2} END {printf "%d %d\n", t * 1000000, n}'
}

# flood prints the processor time of a command in ns, and commands a second.
flood() {
	local before after
	before=$(used)
	local persecond
	persecond=$(redis-benchmark -p "$port" -c 20 -n "$requests" -r 100000 --csv SET data:__rand_int__ 0123456789 | tail -1 | cut -d, -f2 | tr -d '"' | cut -d. -f1)
	after=$(used)
	echo "$before $after $persecond" | awk '{printf "%d %d\n", ($3 - $1) * 1000 / ($4 - $2), $5}'
}

# with prints what the flood gets through during a look with some flags; none: nobody looks.
with() {
	local look=
	if [ "$1" != none ]; then
		# shellcheck disable=SC2086 # the flags are words
		bin/sim observe "redis://127.0.0.1:$port" --keys 'lock:*' $1 >"$folder/look.txt" 2>&1 &
		look=$!
		until grep -qs '^note:' "$folder/look.txt"; do sleep 0.1; done
	fi
	flood
	if [ -n "$look" ]; then
		kill -INT "$look"
		wait "$look" || true
	fi
}

kinds=("nobody looks" "nobody looks, events are on (KA)" "MONITOR" "--sample 200ms/2s" "--without-monitor")
for round in $(seq "$rounds"); do
	for i in "${!kinds[@]}"; do
		events=''
		case $i in
		1 | 4) events=KA ;;
		esac
		redis-cli -p "$port" config set notify-keyspace-events "$events" >/dev/null
		case $i in
		2) flags=--force ;;
		3) flags='--force --sample 200ms/2s' ;;
		4) flags=--without-monitor ;;
		*) flags=none ;;
		esac
		with "$flags" >>"$folder/$i"
	done
	echo "round $round of $rounds" >&2
done

redis-server --version | cut -d' ' -f1-3
bin/sim version | head -1
echo "$(nproc) processors, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1); load $(cut -d' ' -f1 /proc/loadavg); $rounds rounds of $requests SET, 20 clients"
# middle prints the middle of a column.
middle() { cut -d' ' -f"$2" "$folder/$1" | sort -n | sed -n "$(((rounds + 1) / 2))p"; }
for i in "${!kinds[@]}"; do
	own=$(middle "$i" 1)
	printf '%-34s %6d ns of the server for a command (%+4d %%; %s); %7d a second\n' "${kinds[$i]}" "$own" \
		$((100 * own / $(middle 0 1) - 100)) "$(cut -d' ' -f1 "$folder/$i" | sort -n | tr '\n' ' ' | sed 's/ $//')" "$(middle "$i" 2)"
done
