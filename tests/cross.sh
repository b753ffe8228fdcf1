#!/usr/bin/env bash
# Compiles codec and frame for another architecture, and runs their tests with qemu-user. Does this in
# a Debian 12 that debootstrap makes in a folder. Must run as root; takes about 40 minutes.
set -euo pipefail

usage="usage: tests/cross.sh arm64 | s390x"
case "${1-}" in
  arm64) triplet=aarch64-linux-gnu cpu=aarch64 family=aarch64 endian=little emulator=qemu-aarch64 ;;
  s390x) triplet=s390x-linux-gnu cpu=s390x family=s390x endian=big emulator=qemu-s390x ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
architecture=$1
[ "$(id -u)" -eq 0 ] || { echo "cross.sh: debootstrap needs root" >&2; exit 1; }
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
command -v debootstrap >/dev/null || apt-get -qq -y --no-install-recommends install debootstrap

mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
root=$(mktemp -d /var/tmp/bloscfs-cross.XXXXXX)
trap 'rm -rf --one-file-system "$root"' EXIT
debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror" >"$root.log" 2>&1 ||
  { tail -n 20 "$root.log"; exit 1; }
rm "$root.log"
mkdir "$root/bloscfs"
git -C "$top" ls-files -z | tar -C "$top" --null -T - -cf - | tar -C "$root/bloscfs" -xf -
cat >"$root/bloscfs/cross.ini" <<INI
[binaries]
cpp = '$triplet-g++'
ar = '$triplet-ar'
strip = '$triplet-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['$emulator']
[properties]
pkg_config_libdir = ['/usr/lib/$triplet/pkgconfig', '/usr/share/pkgconfig']
[host_machine]
system = 'linux'
cpu_family = '$family'
cpu = '$cpu'
endian = '$endian'
INI

# Packages for this machine (programs, and libraries that are only headers), and for the other architecture.
own=(meson ninja-build pkg-config python3 qemu-user nlohmann-json3-dev libcli11-dev libboost-dev)
others=(libboost-test-dev libfmt-dev libspdlog-dev liblz4-dev libzstd-dev zlib1g-dev libminizip-dev libsnappy-dev
  libdeflate-dev libzfp-dev libhwy-dev libxxhash-dev libssl-dev libcurl4-openssl-dev libxml2-dev libpugixml-dev
  libpng-dev libfuse3-dev libcap-dev libseccomp-dev)
unshare --mount bash -c 'mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; exec chroot "$0" bash -ec "$1"' \
  "$root" "
  export DEBIAN_FRONTEND=noninteractive
  dpkg --add-architecture $architecture
  apt-get -qq update
  apt-get -qq -y --no-install-recommends install crossbuild-essential-$architecture ${own[*]} ${others[*]/%/:$architecture} >/dev/null
  cd /bloscfs
  meson setup build --cross-file cross.ini --buildtype=release --unity=on -Dunity_size=12 >setup.log || { tail -n 20 setup.log build/meson-logs/meson-log.txt; exit 1; }
  ninja -C build --quiet tests/codec/test_codec tests/frame/test_frame
  meson test -C build --no-rebuild --print-errorlogs --timeout-multiplier=8 codec frame"
