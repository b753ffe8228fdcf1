#pragma once
// Sparse frames that have been removed while somebody reads them: their files go when the last one
// has left.

#include <map>
#include <memory>
#include <string>

#include "frame/store/temporary_name.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Removes the directory of that identity and name with the frame that is in it: regular files with
/// names of a sparse frame's, or of temporaries. Anything else stays, and with it the directory.
/// Errors are logged: nobody waits for it any more.
void remove_frame_directory(const SourceDirectory& parent, const std::string& name,
                            const frame::ObjectIdentity& identity) noexcept;

/// Thread-safe.
class RemovedSframes {
 public:
  /// Removes the frame directory of that identity that is called `name` (a temporary's name) when
  /// the result, and its copies, are gone.
  std::shared_ptr<void> add(SourceDirectory parent, const std::string& name,
                            const frame::ObjectIdentity& identity);
  /// Waits for one that is just being removed, in a break (fs/support/lock_breaks.hpp).
  void wait_until_removed(const std::string& name);
  /// Takes a removed one out of the directory that it is in, which is to be removed. False if
  /// there is none of that name, or not any more.
  bool relocate(const std::string& name, const SourceDirectory& from, const SourceDirectory& to);

 private:
  struct Frame;
  struct Registry {
    Mutex mutex;
    CondVar ended;  ///< a frame is gone
    std::map<std::string, std::weak_ptr<Frame>> frames GUARDED_BY(mutex);
  };
  static bool is_ending(const Registry& registry, const std::string& name) REQUIRES(registry.mutex);

  std::shared_ptr<Registry> registry_ = std::make_shared<Registry>();
};

}  // namespace bloscfs::fs
