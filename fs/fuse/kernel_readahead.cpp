#include "fs/fuse/kernel_readahead.hpp"

#include <array>

#include <fcntl.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

/// For who reads from begin to end.
constexpr const char* kSequentialKib = "1024";
/// For who takes parts out of an array that is mapped: around each missing page the kernel reads
/// this much. With a mebibyte, a block of 128^3 floats out of rows of 512 costs four times the
/// bytes of its rows, with 64 KiB one and a half times; with less, the requests cost more than the
/// bytes.
constexpr const char* kMappedKib = "64";

}  // namespace

KernelReadahead::KernelReadahead(const std::optional<MountEntry>& mount) {
  if (!mount) return;
  const MutexLock lock(mutex_);
  const std::string path = "/sys/class/bdi/" + mount->device + "/read_ahead_kb";
  setting_ = frame::UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  set(kSequentialKib);
}

void KernelReadahead::before_open(bool may_be_mapped) {
  if (is_for_mapped_ == may_be_mapped) return;
  const MutexLock lock(mutex_);
  if (!setting_ || is_for_mapped_ == may_be_mapped) return;
  if (may_be_mapped) {
    // An administrator may have set another one since.
    std::array<char, 32> text;
    const ssize_t size = ::pread(setting_.get(), text.data(), text.size(), 0);
    if (size <= 0) return;
    usual_.assign(text.data(), static_cast<std::size_t>(size));
  }
  if (set(may_be_mapped ? kMappedKib : usual_)) is_for_mapped_ = may_be_mapped;
}

/// If that fails, files can still be read, only more slowly.
bool KernelReadahead::set(const std::string& kib) {
  return ::pwrite(setting_.get(), kib.data(), kib.size(), 0) > 0;
}

}  // namespace bloscfs::fs
