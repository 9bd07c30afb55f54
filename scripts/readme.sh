#!/bin/sh
# Prints the table of scenarios for the README.
set -eu
echo "| scenario | what happens |"
echo "|---|---|"
for f in scenarios/*.yaml; do
	name=$(sed -n 's/^name: //p' "$f")
	title=$(sed -n 's/^title: //p' "$f" | sed 's/^"\(.*\)"$/\1/')
	echo "| [$name]($f) | $title |"
done
