#!/usr/bin/env bash
# Checks that need no build: merges, format, includes, references, words, messages and sleeps. Takes 15 seconds.
set -uo pipefail

usage="usage: tests/quick_checks.sh [--complete]
With --complete, a check that cannot be made is a failure."
complete=
case "${1-}" in
  "") ;;
  --complete) complete=yes ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
for program in git python3; do
  command -v "$program" >/dev/null || { echo "quick_checks.sh: needs $program: apt install $program" >&2; exit 1; }
done

check_merges() { ! git grep -nE '^(<<<<<<< |>>>>>>> )'; }

# Other versions of clang-format lay out some lines in another way.
check_format() {
  local version
  version=$(clang-format --version 2>/dev/null | grep -oP 'version \K\d+' || true)
  if [ "$version" != 14 ]; then
    echo "format: not checked, because this needs clang-format 14 (Debian 12), and this is ${version:-missing};" \
      "'git clang-format --diff' shows what another version would change in your lines"
    [ -z "$complete" ]
    return
  fi
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
