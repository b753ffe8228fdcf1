#!/usr/bin/env bash
# Prints the path of a C-Blosc2 library (libblosc2.so, major version 2 of Blosc) to test against.
# usage: fetch_libblosc2.sh DIRECTORY
#
# An installed one is preferred. Otherwise the package of the next Debian release, whose binary
# also runs on this one, is fetched from the mirror that this machine's apt already uses, checked
# with this machine's archive keys, and unpacked into DIRECTORY (where it stays for the next run).
# Exit status 77, with the reason on stderr, when there is none to be had.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: fetch_libblosc2.sh DIRECTORY" >&2; exit 2; }
suite=trixie
package=libblosc2-4

unavailable() {
  echo "no C-Blosc2: $1" >&2
  exit 77
}

# || true: grep finding nothing is no failure here.
installed=$(PATH=$PATH:/sbin ldconfig -p 2>/dev/null | grep -o '/.*libblosc2\.so\.[0-9.]*$' | sort -V | tail -n 1 || true)
if [ -n "$installed" ]; then
  echo "$installed"
  exit 0
fi

mkdir -p "$1"
directory=$(cd "$1" && pwd)
# Several test programs may ask at once.
exec 9>"$directory/lock"
flock 9
unpacked() { find "$directory/root" -name 'libblosc2.so.*' -type f 2>/dev/null | head -n 1; }
if [ -n "$(unpacked)" ]; then
  unpacked
  exit 0
fi
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || unavailable "neither installed nor is this a Debian machine"

release=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[ -n "$release" ] || unavailable "/etc/os-release names no release"

# The address of the archive that holds the release's own suite, from either of apt's formats.
mirror_in_lists() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -nE "s/^[[:space:]]*deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+)[[:space:]]+$release[[:space:]].*main.*/\2/p"
}
mirror_in_deb822() {
  cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk -v release="$release" '
    function finish() {
      split(suites, names, /[ \t]+/)
      for (i in names) if (names[i] == release && (" " components " ") ~ / main /) print uri
      suites = components = uri = ""
    }
    /^[ \t]*$/ { finish(); next }
    tolower($1) == "uris:" { uri = $2 }
    tolower($1) == "suites:" { sub(/^[^:]*:[ \t]*/, ""); suites = $0 }
    tolower($1) == "components:" { sub(/^[^:]*:[ \t]*/, ""); components = $0 }
    END { finish() }'
}
mirror=$(mirror_in_lists; mirror_in_deb822)
mirror=${mirror%%$'\n'*}
[ -n "$mirror" ] || unavailable "apt's configuration names no Debian archive with $release"

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
signed=
[ ! -f "$keyring" ] || signed="[signed-by=$keyring] "

# A private configuration: the machine's own package lists stay as they are.
private=$directory/apt
mkdir -p "$private/lists/partial" "$private/archives/partial"
echo "deb $signed$mirror $suite main" >"$private/sources.list"
options=(
  -o "Dir::Etc::sourcelist=$private/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null
  -o "Dir::State::lists=$private/lists" -o "Dir::Cache=$private" -o APT::Sandbox::User=root
  -o Acquire::Languages=none -o Acquire::http::Timeout=20 -o Acquire::Retries=1
)
log=$private/log
timeout 120 apt-get "${options[@]}" update >"$log" 2>&1 ||
  unavailable "apt-get update for $suite failed: $(tail -n 1 "$log")"
(cd "$private/archives" && timeout 120 apt-get "${options[@]}" download "$package") >>"$log" 2>&1 ||
  unavailable "apt-get download $package failed: $(tail -n 1 "$log")"
dpkg-deb -x "$private/archives/$package"_*.deb "$directory/root" >>"$log" 2>&1 ||
  unavailable "the package does not unpack: $(tail -n 1 "$log")"
[ -n "$(unpacked)" ] || unavailable "the package holds no libblosc2.so"
rm -rf "$private"
unpacked
