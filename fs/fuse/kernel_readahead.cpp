#include "fs/fuse/kernel_readahead.hpp"

#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

/// For who reads from begin to end.
constexpr unsigned kSequentialKib = 1024;
/// For who takes parts out of an array that is mapped: the kernel reads so much around each page
/// that is not there. With a mebibyte, a block of 128^3 floats of 512 columns costs four times the
/// bytes of its rows, with 64 KiB one and a half times; with less, the requests cost more than the
/// bytes.
constexpr unsigned kMappedKib = 64;

}  // namespace

KernelReadahead::KernelReadahead(const std::optional<MountEntry>& mount) {
  if (!mount) return;
  const MutexLock lock(mutex_);
  const std::string path = "/sys/class/bdi/" + mount->device + "/read_ahead_kb";
  setting_ = frame::UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  set(kSequentialKib);
}

void KernelReadahead::before_open(bool may_be_mapped) {
  const unsigned wanted = may_be_mapped ? kMappedKib : kSequentialKib;
  if (kib_ == wanted) return;
  const MutexLock lock(mutex_);
  if (setting_ && kib_ != wanted) set(wanted);
}

/// Where that fails files are read as well, only slower.
void KernelReadahead::set(unsigned kib) {
  const std::string text = std::to_string(kib);
  if (::pwrite(setting_.get(), text.data(), text.size(), 0) > 0) kib_ = kib;
}

}  // namespace bloscfs::fs
