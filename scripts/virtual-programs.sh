#!/bin/sh
# Prints a table: of each program of adapters/ that keeps its lock on Redis, how many runs in virtual time repeat from their seed, how fast they are,
# and how many system calls they make that the supervisor answers. virtual-programs.sh [SEEDS [FOLDER [ONLY]]]
# Each run is made twice with one seed. A row that FOLDER has is not measured again. `make adapters` builds the Go programs.
set -eu
seeds=${1:-100}
out=${2:-.cache/virtual-programs}
only=${3:-}
root=$PWD
mkdir -p "$out"
go test -c -o "$out/guests.test" ./internal/world/virtual/guests

programs() {
	for name in redsync 'redsync -tuned' redislock 'redislock -tuned' rueidislock gozero; do
		echo "$root/bin/adapters/$name"
	done
	echo "/usr/bin/python3 $root/adapters/redis-py/redis_py.py"
	echo "/usr/bin/python3 $root/adapters/tooz/tooz_lock.py"
	echo "/usr/bin/php $root/adapters/symfony-lock/symfony_lock.php"
	echo "/usr/bin/php $root/adapters/symfony-lock/symfony_lock.php --tuned"
	echo "$root/adapters/node-redis/node_redis.mjs"
	echo "/usr/bin/ruby $root/adapters/ruby-redis/ruby_redis.rb"
}

programs | grep -e "$only" | while read -r command; do
	for scenario in one-node-restart set-nx-px; do
		row="$out/$(echo "$command $scenario $seeds" | sed "s|$root/||; s|[^A-Za-z0-9]|_|g").txt"
		[ -s "$row" ] && continue
		export REDLOCK_SIM_MEASURE="$command
$scenario
$seeds"
		if (cd internal/world/virtual/guests && "$root/$out/guests.test" -test.run TestMeasurePrograms -test.timeout 10h) >"$row.new" 2>&1; then
			mv "$row.new" "$row"
		else
			echo "$command, $scenario: see $row.new" >&2
		fi
	done
done

echo "| program | scenario | runs | differ | unknown | a second | a second of processor time | calls a run |"
echo "|---|---|---|---|---|---|---|---|"
cat "$out"/*.txt | grep '^|' | sort
cat "$out"/*.txt | grep '^#' | sort || true
