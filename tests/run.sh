#!/usr/bin/env bash
# Installs what is needed, builds and runs every test program, and counts their cases.
# Ends with the line "N passed, N failed, N skipped"; exit status 1 if any failed or none ran.
set -euo pipefail

usage="usage: tests/run.sh [--sanitize=address,undefined|thread] [--build-dir=DIR] [--timeout=SECONDS]"
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sanitize=
build=
timeout=900
for argument in "$@"; do
  case $argument in
    --sanitize=*) sanitize=${argument#*=} ;;
    --build-dir=*) build=${argument#*=} ;;
    --timeout=*) timeout=${argument#*=} ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
done

"$top/tools/install-deps.sh" --tests

options=(--buildtype=debugoptimized --unity=on -Dunity_size=12)
if [ -n "$sanitize" ]; then
  build=${build:-$top/build-${sanitize//,/-}}
  options+=("-Db_sanitize=$sanitize" -Db_lundef=false)
  # A large quarantine costs a third of the time: every allocation is of memory never touched.
  export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=16}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
  # A group commit holds the locks of more files than TSan's deadlock detector can follow.
  export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:detect_deadlocks=0:suppressions=$top/tests/tsan.supp}
fi
build=${build:-$top/build-tests}
[ -f "$build/build.ninja" ] || meson setup "$build" "$top" "${options[@]}" >/dev/null
ninja -C "$build" --quiet

exec python3 "$top/tests/run_programs.py" "$build" "$top" "$timeout" ${sanitize:+--sanitized}
