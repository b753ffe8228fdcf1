#include "fs/fuse/running_options.hpp"

#include "fs/options/mount_flags.hpp"

namespace bloscfs::fs {

std::string RunningOptions::list() const {
  const MutexLock lock(mutex_);
  return option_list(options_);
}

void RunningOptions::change(const std::string& list) {
  const MountOptions changes = parse_options({list});
  const MutexLock lock(mutex_);
  MountOptions changed = parse_options(change_running(options_.own, changes.own));
  changed.passthrough_options =
      change_flags(options_.passthrough_options, changes.passthrough_options);
  changed.read_only = options_.read_only;
  for (const std::string& word : changes.passthrough_options)
    if (word == "ro" || word == "rw") changed.read_only = word == "ro";
  options_ = changed;
  change_(changed);
}

}  // namespace bloscfs::fs
