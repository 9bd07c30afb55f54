#!/bin/sh
# Prints a table: what an event costs in the files of sdk/ that write lock logs, in µs: the time of the application's thread, over 200,000
# grants with an owner, a TTL and a token. Each is measured five times; the median is printed. locklog-cost.sh [LANGUAGE ...]
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
try=$PWD/sdk/testdata/locklog
[ $# -gt 0 ] || set -- go java rust node python ruby php

# once LANGUAGE prints what one measurement finds.
once() {
	rm -f "$work/x"
	case $1 in
	go) go test ./sdk/go/locklog -run '^$' -bench Granted | awk '/^Benchmark/ { printf "%.2f\n", $3 / 1000 }' ;;
	java) java -cp "$work" Try measure "$work/x" ;;
	rust) "$work/try" measure "$work/x" ;;
	node) node "$try/try.mjs" measure "$work/x" ;;
	python) python3 -B "$try/try.py" measure "$work/x" ;;
	ruby) ruby "$try/try.rb" measure "$work/x" ;;
	php) php "$try/try.php" measure "$work/x" ;;
	esac
}

echo "| language | µs an event |"
echo "|---|---|"
for language; do
	case $language in
	java) javac -d "$work" sdk/java/LockLog.java "$try/Try.java" ;;
	rust) rustc -O --edition 2021 -o "$work/try" "$try/try.rs" ;;
	esac
	median=$(for _ in 1 2 3 4 5; do once "$language"; done | sort -n | sed -n 3p)
	echo "| $language | $median |"
done
