#include "fs/caller.hpp"

#include <sys/stat.h>

namespace bloscfs::fs {

mode_t bits_to_drop(mode_t mode, gid_t group, const Caller& caller) {
  if (!S_ISREG(mode)) return 0;
  mode_t dropped = mode & S_ISUID;
  if ((mode & S_ISGID) == 0) return dropped;
  const bool keeps_group_bit = (mode & S_IXGRP) == 0 && (caller.user == 0 || caller.is_in(group));
  return keeps_group_bit ? dropped : dropped | S_ISGID;
}

}  // namespace bloscfs::fs
