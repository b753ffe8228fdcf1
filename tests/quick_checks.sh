#!/usr/bin/env bash
# Checks that need no build: merges, format, includes, references, words, messages and sleeps. Takes 15 seconds.
set -uo pipefail

usage="usage: tests/quick_checks.sh"
case "${1-}" in
  "") ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

check_merges() { ! git grep -nE '^(<<<<<<< |>>>>>>> )'; }

check_format() {
  git ls-files --cached --others --exclude-standard -- '*.cpp' '*.hpp' |
    xargs -r -n 50 -P "$(nproc)" clang-format --dry-run -Werror
}

status=0
fail() { echo "failed check: $1"; status=1; }

check_merges || fail merges
check_format || fail format
for name in includes references words messages sleeps; do
  python3 "tests/check_$name.py" || fail "$name"
done
exit "$status"
