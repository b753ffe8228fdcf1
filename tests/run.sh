#!/usr/bin/env bash
# Installs the needed packages, builds and runs all or the named test programs, and counts their cases.
# Ends with the line "N passed, N failed, N skipped". The exit status is 1 if a case failed or none passed.
# If BLOSCFS_B2FRAME names the b2frame of another build, tests of mounts use it, and this build makes none.
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

programs=$(grep -ohP "executable\('\Ktest_\w+" "$top"/tests/*/meson.build | sort | paste -sd ' ')
for name in "${only[@]%%/*}"; do
  [[ " $programs " = *" $name "* ]] || { echo "run.sh: no program $name; the programs are: $programs" >&2; exit 2; }
done

for name in "${only[@]}"; do
  [[ $name = */* ]] || continue
  IFS=, read -ra suites <<<"${name#*/}"
  for suite in "${suites[@]}"; do
    grep -rqE "BOOST_(AUTO|FIXTURE)_TEST_SUITE\(${suite%%/*}\b" "$top/tests" ||
      { echo "run.sh: no suite $suite in the tests" >&2; exit 2; }
  done
done

"$top/tools/install-deps.sh" --tests

options=(--buildtype=debugoptimized --unity=on -Dunity_size=12)
if [ -n "$sanitize" ]; then
  build=${build:-$top/build-${sanitize//,/-}}
  options+=("-Db_sanitize=$sanitize" -Db_lundef=false)
  # A large quarantine costs a third of the time, since each allocation then gets untouched memory. Ten
  # stack frames for each allocation are enough to find it; 30 cost 7 % more.
  export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=16:malloc_context_size=10}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
  # Processes that tests kill leave threads behind.
  export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:report_thread_leaks=0:suppressions=$top/tests/tsan.supp}
  # TSan's deadlock detector can follow 64 locks of a thread. A batch of commits holds more locks the
  # more descriptors the process may have.
  if [ "$sanitize" = thread ]; then ulimit -n 640; fi
fi
build=${build:-$top/build-tests}
[ -f "$build/build.ninja" ] || meson setup "$build" "$top" "${options[@]}" >/dev/null
targets=()
if [ ${#only[@]} -gt 0 ]; then
  # Tests outside the quick suite also need other programs, and libraries to preload.
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
