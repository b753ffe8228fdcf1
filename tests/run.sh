#!/usr/bin/env bash
# Installs what is needed, builds and runs every test program, or those that are named, and counts their cases.
# Ends with the line "N passed, N failed, N skipped"; exit status 1 if any failed or none ran.
# BLOSCFS_B2FRAME is the b2frame of another build that tests of mounts use, so that it need not be built.
set -euo pipefail

usage="usage: tests/run.sh [--sanitize=address,undefined|thread] [--build-dir=DIR] [--timeout=SECONDS]
  [--build-only] [PROGRAM[/SUITE,...]]..."
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sanitize=
build=
timeout=900
build_only=
only=()
for argument in "$@"; do
  case $argument in
    --sanitize=*) sanitize=${argument#*=} ;;
    --build-dir=*) build=${argument#*=} ;;
    --timeout=*) timeout=${argument#*=} ;;
    --build-only) build_only=yes ;;
    -h | --help) echo "$usage"; exit 0 ;;
    -*) echo "$usage" >&2; exit 2 ;;
    *) only+=("$argument") ;;
  esac
done

"$top/tools/install-deps.sh" --tests

options=(--buildtype=debugoptimized --unity=on -Dunity_size=12)
if [ -n "$sanitize" ]; then
  build=${build:-$top/build-${sanitize//,/-}}
  options+=("-Db_sanitize=$sanitize" -Db_lundef=false)
  # A large quarantine costs a third of the time: every allocation is of memory never touched. Ten
  # callers of each allocation are enough to find it, and 30 cost 7 % more.
  export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=16:malloc_context_size=10}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
  # Processes that tests end suddenly leave threads.
  export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:report_thread_leaks=0:suppressions=$top/tests/tsan.supp}
  # TSan's detector of deadlocks follows 64 locks of a thread. How many a batch of commits holds is a
  # part of the descriptors that a process may have.
  if [ "$sanitize" = thread ]; then ulimit -n 640; fi
fi
build=${build:-$top/build-tests}
[ -f "$build/build.ninja" ] || meson setup "$build" "$top" "${options[@]}" >/dev/null
targets=()
if [ ${#only[@]} -gt 0 ]; then
  # Tests start programs, and have libraries loaded, beside their own; those of the quick suite do not.
  beside='(?!)'
  if printf '%s\n' "${only[@]%%/*}" | grep -qvxE 'test_(codec|frame|fs)'; then
    beside='(tools|tests/support|tests/peer)/(?!test_)[^/]+'
    [ -z "${BLOSCFS_B2FRAME:-}" ] || beside="(?!tools/b2frame:)$beside"
  fi
  named=$(printf '|%s' "${only[@]%%/*}")
  mapfile -t targets < <(ninja -C "$build" -t targets all |
    grep -oP "^($beside|tests/[^/]+/(${named:1}))(?=: cpp_LINKER\$)")
fi
ninja -C "$build" --quiet "${targets[@]}"
[ -z "$build_only" ] || exit 0

exec python3 "$top/tests/run_programs.py" "$build" "$top" "$timeout" ${sanitize:+--sanitized} "${only[@]}"
