#!/usr/bin/env bash
# Builds, and measures writing against C-Blosc2 and a filesystem that does nothing, in one run.
# usage: tests/bench/run.sh [--size BYTES] [--rounds N]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools/install-deps.sh --tests
build=build-bench
[ -d "$build" ] || CXX=g++ meson setup "$build" --buildtype=release --unity=on -Dunity_size=12 >/dev/null
ninja -C "$build" --quiet
library=$(tests/peer/fetch_libblosc2.sh "$build/libblosc2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 tests/bench/writing.py "$build" "$work" --library "$library" "$@"
