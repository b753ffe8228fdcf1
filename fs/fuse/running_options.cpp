#include "fs/fuse/running_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bloscfs::fs {

std::string RunningOptions::list() const {
  const MutexLock lock(mutex_);
  return fmt::format("{}", fmt::join(own_, ","));
}

void RunningOptions::change(const std::string& list) {
  const std::vector<std::string> changes = parse_options({list}).own;
  const MutexLock lock(mutex_);
  own_ = change_running(own_, changes);
  change_(parse_options(own_));
}

}  // namespace bloscfs::fs
