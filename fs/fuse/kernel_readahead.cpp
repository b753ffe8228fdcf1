#include "fs/fuse/kernel_readahead.hpp"

#include <array>

#include <fcntl.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

/// For programs that read a file from begin to end.
constexpr const char* kSequentialKib = "1024";
/// For programs that map an array and read parts of it: the kernel reads this much around each
/// missing page. Example: a block of 128^3 floats out of rows of 512. With 1 MiB, the kernel reads
/// four times the bytes of the rows, with 64 KiB one and a half times. With less, the requests cost
/// more than the bytes.
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
    // Saves the present value, which an administrator may have set, so that it can be restored.
    std::array<char, 32> text;
    const ssize_t size = ::pread(setting_.get(), text.data(), text.size(), 0);
    if (size <= 0) return;
    usual_.assign(text.data(), static_cast<std::size_t>(size));
  }
  if (set(may_be_mapped ? kMappedKib : usual_)) is_for_mapped_ = may_be_mapped;
}

/// Returns false on failure. Files can still be read then, only more slowly.
bool KernelReadahead::set(const std::string& kib) {
  return ::pwrite(setting_.get(), kib.data(), kib.size(), 0) > 0;
}

}  // namespace bloscfs::fs
