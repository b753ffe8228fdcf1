#pragma once
// What is to be mounted, and how.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frame/store/clock.hpp"
#include "frame/store/object_tree.hpp"
#include "fs/options/options.hpp"

namespace bloscfs::fs {

/// How a SOURCE of objects is reached.
struct ObjectSetting {
  std::string
      shown;  ///< SOURCE without what may be secret in it: for the mount table, and messages
  bool is_writable = false;
  /// Files that are read while it is served, in the place of what the system has.
  std::vector<std::string> files;
  /// Folders that are written; they are there.
  std::vector<std::string> folders;
  /// Begins threads, so that it is called late. Throws with a message for the user.
  std::function<std::shared_ptr<frame::ObjectTree>()> open;
};

enum class MountPhase {
  works,
  ends,  ///< it serves no requests any more; what was written is being committed
};

struct SessionSettings {
  std::string version;  ///< of the program, for the log and --list
  std::string source;
  std::string mountpoint;
  bool foreground = false;
  bool debug = false;  ///< libfuse's debugging output; implies foreground
  MountOptions options;
  std::shared_ptr<const ObjectSetting> objects;  ///< null: SOURCE is a path
  /// Who is to know; called inside the sandbox. Null: nobody.
  std::function<void(MountPhase)> tell;
  const frame::Clock* clock = &frame::system_clock();  ///< outlives the session
};

}  // namespace bloscfs::fs
