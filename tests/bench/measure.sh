#!/usr/bin/env bash
# Builds what is measured in a build directory, and measures it, with C-Blosc2 where it is to be had.
# usage: measure.sh BUILD_DIR [--size BYTES] [--rounds N] [--group NAME ...]
# Exit status 77, with the reason on stderr, where that cannot be: only root mounts images and sets
# the kernel's readahead.
set -euo pipefail

build=$(cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=/usr/bin/python3  # the one that the distribution's NumPy is for
impossible() {
  echo "measure.sh: $1" >&2
  exit 77
}
[ "$(id -u)" -eq 0 ] || impossible "needs root"
[ -w /dev/fuse ] || impossible "no /dev/fuse"
"$python" -c "import numpy" 2>/dev/null || impossible "no NumPy for $python"
ninja -C "$build" --quiet bench
library=$(tests/peer/fetch_libblosc2.sh "$build/libblosc2") || library=
exec "$python" tests/bench/run.py "$build" ${library:+--library "$library"} "$@"
