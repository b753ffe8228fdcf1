# shellcheck shell=bash
# Functions for .ci/run and .ci/nightly, which source this file from the top of the tree.

failed=()
logs=$(mktemp -d)
aside=
trap 'rm -rf "$logs"; [ -z "$aside" ] || kill -- -"$aside" 2>/dev/null || true' EXIT

# mold links in a tenth of the time.
if command -v mold >/dev/null; then export CXX_LD=mold; fi

# Fixed seeds, so that a failure comes from the change and not from another random sequence.
export BLOSCFS_MODEL_SEED=${BLOSCFS_MODEL_SEED:-1} BLOSCFS_SEED=${BLOSCFS_SEED:-1}

# Sets `processor_seconds` to the processor time of all children that have ended, in whole seconds.
count_processor_seconds() {
  # Not $(times): a subshell has no children.
  times >"$logs/times"
  processor_seconds=$(awk -F'[ms ]+' 'NR == 2 { printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }' "$logs/times")
}

# step NAME COMMAND...: runs COMMAND, prints how long it took, and records a failure.
step() {
  local name=$1 begin=$SECONDS processor_begin
  shift
  count_processor_seconds
  processor_begin=$processor_seconds
  echo "=== $name"
  "$@" || failed+=("$name")
  count_processor_seconds
  echo "=== $name: $((SECONDS - begin)) s, $((processor_seconds - processor_begin)) s of processors"
}

# keep LOG COMMAND...: runs COMMAND, and keeps its output, from which finish() counts the tests.
keep() {
  local log=$1
  shift
  "$@" | tee "$logs/$log.tests"
}

# begin_aside FUNCTION: runs FUNCTION in the background at the lowest priority, since tests wait most of
# the time. It gets a session of its own, because the kernel divides processors between sessions first.
# Only one FUNCTION may run at a time.
begin_aside() {
  # shellcheck disable=SC2016
  setsid -w bash -c "$(declare -f; declare -p sanitized)"'
    echo 19 2>/dev/null >/proc/self/autogroup; renice -n 19 $$ >/dev/null; set -eo pipefail; "$1"' \
    aside "$1" >"$logs/aside" 2>&1 &
  aside=$!
}
end_aside() {
  local status=0
  wait "$aside" || status=$?
  aside=
  cat "$logs/aside"
  return "$status"
}

sources() { git ls-files --cached --others --exclude-standard -- "$@"; }

# Compiling twelve source files as a group takes a third of the time that they take one by one.
set_up() { meson setup "$@" --unity=on -Dunity_size=12 >/dev/null; }

# The programs that .ci/run tests with ASan and UBSan: the suite `quick`, whose mounts are in the program
# itself. .ci/nightly tests all programs with them.
sanitized=(test_codec test_frame test_fs)

# set_up_clang: makes the build directory for clang's warnings, tests with sanitizers, and the fuzzers.
set_up_clang() {
  rm -rf build-clang
  CXX=clang++ set_up build-clang --buildtype=debug --optimization=1 \
    -Dwerror=true -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false \
    -Dcpp_args=-gline-tables-only
}

test_sanitized() {
  tests/run.sh --build-dir=build-clang --sanitize=address,undefined --timeout=1800 "$@"
}

# check_tidy FILE...: runs clang-tidy on groups of source files in build-clang, or on single sources.
# Groups take less time than files: most of the work is in the headers of libraries, which a group includes
# once.
check_tidy() { printf '%s\n' "$@" | xargs -r -n 1 -P "$(nproc)" clang-tidy --quiet -p build-clang 2>/dev/null; }

# finish: prints which steps failed, and the counts of all tests. Its status is that of the whole run.
finish() {
  [ ${#failed[@]} -eq 0 ] || printf 'failed step: %s\n' "${failed[@]}"
  { cat "$logs"/*.tests 2>/dev/null || true; } | awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5 }
    END { printf "%d passed, %d failed, %d skipped\n", p, f, s }'
  [ ${#failed[@]} -eq 0 ]
}
