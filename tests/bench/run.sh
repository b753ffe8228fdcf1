#!/usr/bin/env bash
# Installs what is needed, builds, and measures bloscfs beside its peers and its limits in one run.
# usage: tests/bench/run.sh [--size SIZE] [--rounds N] [--group NAME ...]
# The results are in build-bench/results; what they were measured on stays in build-bench/bench-data.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools/install-deps.sh --bench
build=build-bench
[ -d "$build" ] || CXX=g++ meson setup "$build" --buildtype=release --unity=on -Dunity_size=12 >/dev/null
exec tests/bench/measure.sh "$build" "$@"
