#!/usr/bin/env bash
# Installs the packages that building bloscfs needs, on Debian 12, 13 and sid. An option adds packages:
# --tests for tests/run.sh and .ci/run, --bench for tests/bench/run.sh, --package for tools/package.sh.
# Must run as root, or as a user who may use sudo.
set -euo pipefail

usage="usage: tools/install-deps.sh [--tests | --bench | --package]"

build_packages=(
  g++ meson ninja-build pkg-config
  libfuse3-dev fuse3 libcap-dev libseccomp-dev
  libboost-dev libboost-test-dev nlohmann-json3-dev libcli11-dev libfmt-dev libspdlog-dev
  liblz4-dev libzstd-dev zlib1g-dev libminizip-dev libsnappy-dev libdeflate-dev libzfp-dev
  libhwy-dev libxxhash-dev libssl-dev libcurl4-openssl-dev libxml2-dev libpugixml-dev libpng-dev
  python3
)
test_packages=(
  clang clang-format clang-tidy libclang-rt-dev binutils mold
  python3-numpy acl attr jq less rsync tar util-linux iproute2 hostname
  man-db mandoc zsh fish chromium
  e2fsprogs btrfs-progs xfsprogs bindfs mergerfs gocryptfs encfs sshfs openssh-sftp-server
  fio git sqlite3 nginx-light openssl ceph-common ceph-mon ceph-osd radosgw
)
bench_packages=(
  python3-numpy attr
  squashfs-tools squashfuse erofs-utils btrfs-progs e2fsprogs bindfs nginx-light curl rclone git rsync
)
package_packages=(build-essential dpkg-dev debhelper dh-python fakeroot lintian)
# Later releases have this package. On others, the benchmark leaves out its programs.
if apt-cache show erofsfuse >/dev/null 2>&1; then bench_packages+=(erofsfuse); fi

packages=("${build_packages[@]}")
case "${1-}" in
  "") ;;
  --tests) packages+=("${test_packages[@]}") ;;
  --bench) packages+=("${bench_packages[@]}") ;;
  --package) packages+=("${package_packages[@]}") ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
[ $# -le 1 ] || { echo "$usage" >&2; exit 2; }

# dpkg-query is quick and needs no network, so a second run costs nothing.
missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "install-deps.sh: needs root or sudo to install: ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi

echo "install-deps.sh: installing ${missing[*]}" >&2
"${as_root[@]}" apt-get -qq update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -qq -y --no-install-recommends install "${missing[@]}" >/dev/null
