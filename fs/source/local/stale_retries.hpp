#pragma once
// Work on a node whose source may be replaced under it.

#include <cerrno>
#include <system_error>

namespace bloscfs::fs {

/// Runs `work` again where it throws ESTALE, 20 times at most: the kernel itself tries only twice.
template <typename Work>
auto retrying_stale(const Work& work) {
  constexpr int kTries = 20;
  for (int tries = 1; tries < kTries; tries++) {
    try {
      return work();
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE)) throw;
    }
  }
  return work();
}

}  // namespace bloscfs::fs
