#pragma once
// What all changes of names of a mount share.

#include <functional>
#include <string>

#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/local/files/rescue_folder.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/names/contents.hpp"
#include "fs/source/local/names/name_choice.hpp"
#include "fs/source/local/names/removed_sframes.hpp"
#include "fs/source/local/names/surroundings.hpp"
#include "fs/source/local/names/unsynced_names.hpp"
#include "fs/source/local/tree/tree.hpp"

namespace bloscfs::fs {

struct NameServices {
  const SourceRoot& root;
  const Surroundings& surroundings;
  Tree& tree;
  NamingPolicy policy;
  MountLock* lock = nullptr;       ///< of a writable mount
  RescueFolder* rescue = nullptr;  ///< the same, if it has one
  Contents* contents = nullptr;    ///< set before the first change
  RemovedSframes removed_sframes = {};
  UnsyncedNames unsynced_names{root};
  /// As ContentHome's; attributes are forgotten, too.
  std::function<void(NodeId, std::function<void()> done)> forget_pages =
      [](NodeId, const std::function<void()>& done) { done(); };
  std::function<void(NodeId)> forget_attributes = [](NodeId) {};
};

}  // namespace bloscfs::fs
