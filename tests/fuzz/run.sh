#!/usr/bin/env bash
# Runs fuzzers of a clang build for SECONDS of processor time, as many at once as there are processors:
# the TARGETs for equal shares of it, or every one, when fuzz_writing has 9 parts of 20 and the others
# share the rest. They start from the files of tests/data and of tests/fuzz/corpus and, where it is
# present, the larger corpus beside the source tree. What breaks one is left in the current directory
# as crash-*. Before a release: tests/fuzz/run.sh 3600 BUILD_DIR fuzz_writing
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: tests/fuzz/run.sh SECONDS BUILD_DIR [TARGET...]" >&2; exit 2; }
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
seconds=$1
build=$2/tests/fuzz
places=("$top/tests/data")
corpus=${BLOSCFS_CORPUS:-$top/../shared/corpus}
[ ! -d "$corpus" ] || places+=("$corpus")

# Else what is undefined is only told.
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

scratch=$(mktemp -d)
# What a fuzzer makes files in, in memory where that is possible.
place_for_files=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch" "$place_for_files"' EXIT

# seeds TARGET: the names of files that are input of that kind.
seeds() {
  case $1 in
    fuzz_objects) names=(-name '*array.b2*') ;;
    fuzz_chunk | fuzz_update) names=(-name '*.cdata' -o -name '*.chunk') ;;
    fuzz_cframe | fuzz_sframe_index | fuzz_b2nd | fuzz_repair | fuzz_advise) names=(-name '*.b2*') ;;
    fuzz_bloscpack) names=(-name '*.blp') ;;
    fuzz_npy) names=(-name '*.npy') ;;
    fuzz_csv) names=(-name '*.csv') ;;
    fuzz_zip_store) names=(-name '*.b2z') ;;
    fuzz_table)
      find "$top/tests/data/tables" -name '*.b2z' -print0
      find "$top/tests/fuzz/corpus/$1" -type f -print0
      return
      ;;
    fuzz_writing | fuzz_index_page | fuzz_s3_listing)
      find "$top/tests/fuzz/corpus/$1" -type f -print0
      return
      ;;
    *) return ;;
  esac
  find "${places[@]}" -type f -size -64k \( "${names[@]}" \) -print0
}

# options TARGET: what libFuzzer is to do otherwise than usual.
options() {
  case $1 in
    # Requests follow each other, so that long inputs are no worse than short ones. What one input
    # covers is so much that choosing seeds by rarity, and looking for leaks after each, would take
    # most of the time; leaks are found at the end.
    # What a frame claims must not take memory: a block that does is decoded alone. With what the
    # sanitizer keeps, the largest block takes 2.5 GiB.
    fuzz_advise) echo "-rss_limit_mb=3072" ;;
    # A row of a table takes at most 64 MiB, and a vector of them may grow to twice its size.
    fuzz_table) echo "-malloc_limit_mb=160" ;;
    fuzz_writing) echo "-max_len=1024 -len_control=0 -entropic=0 -detect_leaks=0" ;;
  esac
}

all=$([ $# -gt 2 ] || echo yes)
targets=()
# The longest first.
if [ "$all" = yes ] && [ -x "$build/fuzz_writing" ]; then targets+=("$build/fuzz_writing"); fi
for target in "${@:3}"; do targets+=("$build/$target"); done
for target in "$build"/fuzz_*; do
  [ $# -eq 2 ] || break
  [ "$target" != "$build/fuzz_writing" ] || continue
  [ ! -f "$target" ] || [ ! -x "$target" ] || targets+=("$target")
done
[ ${#targets[@]} -gt 0 ] || { echo "tests/fuzz/run.sh: no fuzzers in $build" >&2; exit 1; }

# seconds_of NAME: how long it is run. Where all are run, requests to a mount have most to find.
seconds_of() {
  local rest=$seconds others=${#targets[@]}
  if [ "$all" = yes ] && [ -x "$build/fuzz_writing" ] && [ "$others" -gt 1 ]; then
    local writing=$((seconds * 9 / 20))
    if [ "$1" = fuzz_writing ]; then echo "$writing"; return; fi
    rest=$((seconds - writing))
    others=$((others - 1))
  fi
  echo $(((rest + others - 1) / others))
}

# run_target TARGET: its directory gets a report, and a file "failed" if it broke.
run_target() {
  local name=$1 place=$scratch/$1 number=0 share
  share=$(seconds_of "$name")
  while IFS= read -r -d '' file; do
    cp "$file" "$place/seeds/$((number += 1))"
  done < <(seeds "$name")
  echo "$name: $share s from $number seeds" >"$place/report"
  TMPDIR=$place_for_files "$build/$name" -max_total_time="$share" -timeout=30 -rss_limit_mb=1024 -verbosity=0 \
    -print_final_stats=1 $(options "$name") "$place/new" "$place/seeds" >"$place/log" 2>&1 || {
    touch "$place/failed"
    echo "$name failed:"
    tail -n 60 "$place/log"
  } >>"$place/report"
  grep -E 'number_of_executed_units|peak_rss_mb' "$place/log" >>"$place/report" || true
}

for target in "${targets[@]}"; do
  name=$(basename "$target")
  mkdir -p "$scratch/$name/seeds" "$scratch/$name/new"
  while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
  run_target "$name" &
done
wait
cat "$scratch"/*/report
[ -z "$(find "$scratch" -name failed)" ]
