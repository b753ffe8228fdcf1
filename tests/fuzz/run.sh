#!/usr/bin/env bash
# Runs every fuzzer of a clang build for an equal share of SECONDS of processor time, as many at once
# as there are processors, from the files of tests/data and, where it is present, the larger corpus
# beside the source tree. What breaks one is left in the current directory as crash-*.
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: tests/fuzz/run.sh SECONDS BUILD_DIR" >&2; exit 2; }
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
seconds=$1
build=$2/tests/fuzz
places=("$top/tests/data")
corpus=${BLOSCFS_CORPUS:-$top/../shared/corpus}
[ ! -d "$corpus" ] || places+=("$corpus")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# seeds TARGET: the names of files that are input of that kind.
seeds() {
  case $1 in
    fuzz_chunk | fuzz_update) names=(-name '*.cdata' -o -name '*.chunk') ;;
    fuzz_cframe | fuzz_sframe_index | fuzz_b2nd) names=(-name '*.b2*') ;;
    fuzz_bloscpack) names=(-name '*.blp') ;;
    fuzz_npy) names=(-name '*.npy') ;;
    *) return ;;
  esac
  find "${places[@]}" -type f -size -64k \( "${names[@]}" \) -print0
}

targets=()
for target in "$build"/fuzz_*; do
  [ ! -f "$target" ] || [ ! -x "$target" ] || targets+=("$target")
done
[ ${#targets[@]} -gt 0 ] || { echo "tests/fuzz/run.sh: no fuzzers in $build" >&2; exit 1; }

share=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))

# run_target TARGET: its directory gets a report, and a file "failed" if it broke.
run_target() {
  local name=$1 place=$scratch/$1 number=0
  while IFS= read -r -d '' file; do
    cp "$file" "$place/seeds/$((number += 1))"
  done < <(seeds "$name")
  echo "$name: $share s from $number seeds" >"$place/report"
  "$build/$name" -max_total_time="$share" -timeout=10 -rss_limit_mb=1024 -verbosity=0 \
    -print_final_stats=1 "$place/new" "$place/seeds" >"$place/log" 2>&1 || {
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
