#!/usr/bin/env bash
# Measures what is built, with C-Blosc2 where it is to be had.
# usage: measure.sh BUILD_DIR [--size BYTES] [--rounds N] [--group NAME ...]
# Exit status 77, with the reason on stderr, where nothing can be mounted or NumPy is missing.
set -euo pipefail

build=$(cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=/usr/bin/python3  # the one that the distribution's NumPy is for
[ -w /dev/fuse ] || { echo "measure.sh: no /dev/fuse" >&2; exit 77; }
"$python" -c "import numpy" 2>/dev/null || { echo "measure.sh: no NumPy for $python" >&2; exit 77; }
library=$(tests/peer/fetch_libblosc2.sh "$build/libblosc2") || library=
exec "$python" tests/bench/run.py "$build" ${library:+--library "$library"} "$@"
