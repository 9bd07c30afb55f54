#!/bin/sh
# Builds the launcher from launcher.c. Without an argument it writes the one that is embedded, and beside it of what and with what it
# was made; with one it writes to that file alone.
set -eu
cd "$(dirname "$0")"
tools() { # what the bytes depend on beside the source
	${CC:-gcc} --version | head -n 1
	ld --version | head -n 1
}
[ $# -eq 0 ] || tools
${CC:-gcc} -Os -std=c11 -Wall -Wextra -Werror -ffreestanding -fno-builtin -fno-stack-protector -fno-asynchronous-unwind-tables \
	-fcf-protection=none -fno-ident -fno-pie -no-pie -static -nostdlib \
	-Wl,--build-id=none,-z,noseparate-code,-z,norelro,-z,noexecstack -s -o "${1:-launcher}" launcher.c
[ $# -gt 0 ] || { sha256sum build.sh launcher.c launcher; tools; } > built.txt
