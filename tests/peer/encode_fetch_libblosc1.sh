#!/usr/bin/env bash
# Prints the path of a C-Blosc library (libblosc.so.1) to test against: the installed one, or else
# the one of this Debian release's package, unpacked into DIRECTORY.
# usage: encode_fetch_libblosc1.sh DIRECTORY
# Exit status 77, with the reason on stderr, when there is none to be had.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: encode_fetch_libblosc1.sh DIRECTORY" >&2; exit 2; }

# || true: grep finding nothing is no failure here.
installed=$(PATH=$PATH:/sbin ldconfig -p 2>/dev/null | grep -o '/.*libblosc\.so\.1$' | head -n 1 || true)
if [ -n "$installed" ]; then
  echo "$installed"
  exit 0
fi

mkdir -p "$1"
directory=$(cd "$1" && pwd)
unpacked() { find "$directory/root" -name 'libblosc.so.1.*' -type f 2>/dev/null | head -n 1; }
if [ -z "$(unpacked)" ]; then
  (cd "$directory" && timeout 120 apt-get -o APT::Sandbox::User=root download libblosc1 &&
    dpkg-deb -x libblosc1_*.deb root) >"$directory/log" 2>&1 ||
    { echo "no C-Blosc: $(tail -n 1 "$directory/log")" >&2; exit 77; }
fi
unpacked
