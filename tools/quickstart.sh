#!/usr/bin/env bash
# Installs the needed packages and builds a release in build/. Without arguments, it then mounts the
# sample frames and shows what can be done with them. With SOURCE and MOUNTPOINT, it mounts SOURCE there
# and leaves it mounted.
set -euo pipefail

usage="usage: tools/quickstart.sh [SOURCE MOUNTPOINT]"
case "${1-}" in
  -h | --help) echo "$usage"; exit 0 ;;
  -*) echo "$usage" >&2; exit 2 ;;
esac
[ $# -eq 0 ] || [ $# -eq 2 ] || { echo "$usage" >&2; exit 2; }

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$top/build
bloscfs=$build/tools/bloscfs

"$top/tools/install-deps.sh"

log=$(mktemp)
mountpoint=
clean_up() {
  if [ -n "$mountpoint" ]; then
    if mountpoint -q "$mountpoint"; then fusermount3 -u -z "$mountpoint" || true; fi
    rmdir "$mountpoint" || true
  fi
  rm -f "$log"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

quietly() {
  "$@" >"$log" 2>&1 || { cat "$log" >&2; echo "quickstart.sh: failed: $*" >&2; exit 1; }
}
echo "building bloscfs in ${build#"$PWD"/}; the first build may take 10 minutes ..." >&2
[ -f "$build/build.ninja" ] ||
  quietly meson setup "$build" "$top" --buildtype=release --unity=on -Dunity_size=12 -Dtests=false
quietly ninja -C "$build" tools/bloscfs tools/b2frame

if [ $# -eq 2 ]; then
  [ -e "$2" ] || mkdir -p "$2"
  if mountpoint -q "$2"; then
    echo "quickstart.sh: $2: something is mounted there already" >&2
    exit 1
  fi
  "$bloscfs" "$1" "$2"
  echo "$1 is mounted on $2; 'fusermount3 -u $2' ends it."
  exit 0
fi

if [ ! -e /dev/fuse ]; then
  echo "quickstart.sh: this machine has no /dev/fuse, so nothing can be mounted" >&2
  exit 1
fi

# Debian's python3 comes first, since python3-numpy belongs to it.
export PATH=/usr/bin:$PATH

show() {
  printf '\n$ %s\n' "$1"
  (cd "$mountpoint" && bash -c "$1")
}

mountpoint=$(mktemp -d "${TMPDIR:-/tmp}/bloscfs.XXXXXX")
"$bloscfs" -o ro "$top/tests/data/samples" "$mountpoint"

echo "stored as frames, in tests/data/samples:"
ls -l "$top/tests/data/samples"
echo
echo "the same directory, mounted:"
show 'ls -l'
show 'for f in *; do cat "$f" | sha256sum | sed "s/-/$f/"; done'
show 'head -n 3 station.log'
if command -v getfattr >/dev/null; then
  show 'getfattr -n user.blosc2.json.notes --only-values station.log'
  echo
else
  show 'python3 -c "
import os
for name in os.listxattr(\"station.log\"):
    print(name, os.getxattr(\"station.log\", name))"'
fi
if python3 -c 'import numpy' 2>/dev/null; then
  show 'python3 -c "
import numpy
a = numpy.load(\"temperature.npy\", mmap_mode=\"r\")
print(a.shape, a.dtype, a[10, 20:23, 30])"'
fi
