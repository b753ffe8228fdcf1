#!/usr/bin/env bash
# Builds the checked-out tree and runs its quick tests on each release of Debian, with the commands of the
# README. debootstrap makes a folder for each release. Must run as root; takes about 20 minutes a release.
set -euo pipefail

usage="usage: tests/distributions.sh [RELEASE]...    (bookworm, trixie and sid if none is named)"
case "${1-}" in -h | --help) echo "$usage"; exit 0 ;; -*) echo "$usage" >&2; exit 2 ;; esac
[ "$(id -u)" -eq 0 ] || { echo "distributions.sh: debootstrap needs root" >&2; exit 1; }
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
releases=("$@")
[ $# -gt 0 ] || releases=(bookworm trixie sid)
command -v debootstrap >/dev/null || apt-get -qq -y --no-install-recommends install debootstrap

# The mirror that this machine uses.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
folder=$(mktemp -d /var/tmp/bloscfs-distributions.XXXXXX)
trap 'rm -rf --one-file-system "$folder"' EXIT

# inside ROOT COMMAND...: runs COMMAND in ROOT with /proc and /dev. These mounts end with its mount namespace.
inside() {
  local root=$1
  shift
  # shellcheck disable=SC2016
  unshare --mount bash -c 'mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; exec chroot "$0" "$@"' "$root" "$@"
}

failed=()
for release in "${releases[@]}"; do
  root=$folder/$release
  echo "--- $release"
  debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror" >"$folder/log" 2>&1 ||
    { tail -n 20 "$folder/log"; failed+=("$release"); continue; }
  # A mirror's copy of sid may be some weeks old. apt would refuse that.
  echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/old-mirror"
  mkdir "$root/bloscfs"
  git -C "$top" ls-files -z | tar -C "$top" --null -T - -cf - | tar -C "$root/bloscfs" -xf -
  inside "$root" sh -ec 'cd /bloscfs; tools/install-deps.sh
    meson setup build --buildtype=release >/dev/null; ninja -C build --quiet; meson test -C build --print-errorlogs' ||
    failed+=("$release")
  rm -rf --one-file-system "$root"
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
