#!/usr/bin/env bash
# Files that several fio write at once through a mount whose cache they do not fit, on a busy
# machine: first aligned reads and writes, then writes of any offset and size.
# Ends with the line "N runs, N failed"; exit status 1 if any has.
set -euo pipefail

usage="usage: tests/mount/fio_under_load.sh BUILD_DIR [RUNS [AT_ONCE]]"
[ $# -ge 1 ] && [ $# -le 3 ] || { echo "$usage" >&2; exit 2; }
bloscfs=$(realpath "$1")/tools/bloscfs
runs=${2:-500}
at_once=${3:-4}

work=$(mktemp -d)
mkdir "$work/source" "$work/mnt" "$work/logs"
load=()
finish() {
  [ ${#load[@]} -eq 0 ] || kill "${load[@]}" 2>/dev/null || true
  ! mountpoint -q "$work/mnt" || fusermount3 -u "$work/mnt"
  flock "$work/source" rm -rf "$work"
}
trap finish EXIT

"$bloscfs" -o cache_size=48M "$work/source" "$work/mnt"
for ((i = 0; i < $(nproc); i++)); do
  (while :; do :; done) &
  load+=($!)
done

# one NUMBER: its log stays if it fails.
one() {
  local file=$work/mnt/f$1 log=$work/logs/$1
  local common=(--name=run --filename="$file" --size=64M --io_size=16M --ioengine=psync
    --randseed="$1" --group_reporting --minimal)
  if fio "${common[@]}" --rw=randrw --bs=4k >"$log" 2>&1 &&
    fio "${common[@]}" --rw=randwrite --bs_unaligned --bsrange=1k-64k >>"$log" 2>&1 &&
    ! grep -q 'error=' "$log"; then
    rm "$log"
  fi
  rm -f "$file"
}

for ((i = 1; i <= runs; i++)); do
  one "$i" &
  workers+=($!)
  if ((${#workers[@]} == at_once)); then
    wait "${workers[0]}" || true
    workers=("${workers[@]:1}")
  fi
done
for worker in "${workers[@]}"; do wait "$worker" || true; done

failed=$(find "$work/logs" -type f | wc -l)
[ "$failed" -eq 0 ] || head -n 20 "$work"/logs/*
echo "$runs runs, $failed failed"
[ "$failed" -eq 0 ]
