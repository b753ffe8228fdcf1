#!/usr/bin/env bash
# Builds Debian packages of the checked-out tree in build-package/:
# - bloscfs, with programs, manual pages, completions and units
# - python3-bloscfs, with the Python package
# The next run uses what this one has compiled. DEBFULLNAME and DEBEMAIL name the maintainer.
set -euo pipefail

usage="usage: tools/package.sh [FOLDER]"
case "${1-}" in
  -h | --help) echo "$usage"; exit 0 ;;
  -*) echo "$usage" >&2; exit 2 ;;
esac
[ $# -le 1 ] || { echo "$usage" >&2; exit 2; }

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(realpath -m "${1:-$top/build-package}")
for program in dpkg-buildpackage dh; do
  command -v "$program" >/dev/null || {
    echo "package.sh: there is no $program: tools/install-deps.sh --package installs it" >&2
    exit 1
  }
done

tree=$folder/tree
mkdir -p "$tree"
rm -rf "$tree/debian"
# Excludes build folders by name, not by git, so that this also works in an unpacked archive.
tar -C "$top" --exclude='./build*' --exclude=./.git --exclude=__pycache__ -cf - . | tar -C "$tree" -xf -
cp -a "$tree/tools/packaging/debian" "$tree/debian"
if [ -n "${DEBFULLNAME-}" ] && [ -n "${DEBEMAIL-}" ]; then
  sed -i "s/^Maintainer: .*/Maintainer: $DEBFULLNAME <$DEBEMAIL>/" "$tree/debian/control"
  sed -i "0,/^ -- .*>/s// -- $DEBFULLNAME <$DEBEMAIL>/" "$tree/debian/changelog"
fi
rm -f "$folder"/*.deb
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:+$DEB_BUILD_OPTIONS }noautodbgsym"
log=$folder/build.log
echo "building the packages, which takes about 10 minutes of processor time; log: $log" >&2
(cd "$tree" && dpkg-buildpackage --build=binary --no-sign --no-pre-clean) >"$log" 2>&1 || {
  cat "$log" >&2
  echo "package.sh: dpkg-buildpackage failed; its log is $log" >&2
  exit 1
}
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error,warning "$folder"/bloscfs_*.deb "$folder"/python3-bloscfs_*.deb
fi
echo "To install the packages, run as root:"
echo "apt install $folder/bloscfs_*.deb $folder/python3-bloscfs_*.deb"
