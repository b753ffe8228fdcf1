#!/usr/bin/env bash
# Measures what is built, with C-Blosc2 where it is to be had.
# usage: measure.sh BUILD_DIR [--size BYTES] [--rounds N] [--group NAME ...]
set -euo pipefail

build=$(cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
library=$(tests/peer/fetch_libblosc2.sh "$build/libblosc2") || library=
exec /usr/bin/python3 tests/bench/run.py "$build" ${library:+--library "$library"} "$@"
