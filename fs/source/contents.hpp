#pragma once
// The contents of a mount's containers, by node. Sources, handles and extended attributes use them.

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <system_error>
#include <vector>

#include <sys/stat.h>

#include "fs/commit/committer.hpp"
#include "fs/content/open_file.hpp"
#include "fs/source/node.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/request.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

class Source;
struct SourceServices;

/// Changes the contents of a mount's containers, makes them follow other programs' changes, and
/// asks the committer to commit them. Each mount has one, whatever its Source is. Thread-safe. The
/// caller holds no lock of the Source, except for created(). A call that commits throws the errors
/// of that commit. The Source keeps a node during each call for it, and as long as its home() is
/// held.
class Contents {
 public:
  /// `services` outlive this object.
  explicit Contents(const SourceServices& services) : services_(services) {}

  /// Called once, before the first request. `source` outlives the last request.
  void set_source(Source& source) { source_ = &source; }
  Source& source() const { return *source_; }
  const SourceServices& services() const { return services_; }

  // --- other programs' changes

  /// Checks whether another program has changed the file of the node's open container. If so, the
  /// content follows that change.
  void follow(Request& request, NodeId node);
  /// Like follow(), but logs an error once instead of throwing it.
  void try_follow(Request& request, NodeId node);
  /// Makes a content follow another program's change. If that program is still writing the file,
  /// IfBeingWritten::wait waits up to two seconds for it, and IfBeingWritten::fail does not wait.
  /// Returns `being_written` if the file is still being written after that. At most four threads
  /// wait at a time; others get `being_written` at once.
  FollowResult follow(Request& request, const std::shared_ptr<Content>& content,
                      IfBeingWritten unfinished);
  /// Like follow() with IfBeingWritten::wait. True if the content followed. Throws ESTALE if the
  /// file is still being written.
  bool follow_stored_state(Request& request, const std::shared_ptr<Content>& content);
  /// Like follow_stored_state(), but also true if another caller has made the content follow since
  /// `epoch`.
  bool has_followed(Request& request, const std::shared_ptr<Content>& content, std::uint64_t epoch);
  /// True if a change failed with ESTALE only because the content has followed another program's
  /// change since `epoch`. The caller can then retry.
  bool can_retry(Request& request, const std::system_error& error,
                 const std::shared_ptr<Content>& content, std::uint64_t epoch);

  // --- changes

  /// Throws unless the node's file can be changed: EROFS if it cannot be written, codec::Error if
  /// its values must stay as they are. Logs both errors.
  void require_changeable(Request& request, NodeId node, const Content& content);
  /// Notes that a file has changed. If it has no open writers, queues a commit, which keeps the
  /// closed handle's `descriptors` until it is done.
  void changed(const std::shared_ptr<const OpenContainer>& file, FairShare::Part descriptors);
  /// Registers a new empty file, of which SOURCE has at most a temporary. The committer treats the
  /// file as one that stays open; for a file that nothing opens, the caller also calls changed().
  /// Called before other threads see the name, so that none of them judges the incomplete file by
  /// its bytes.
  void created(const Change& change, NodeId node, const struct stat& shown);
  /// Commits the uncommitted changes of these nodes durably. If there are any, that needs a slot
  /// (NoSlot).
  void commit(Request& request, const std::vector<NodeId>& nodes);
  /// Stores an array as a flat frame of the bytes that it shows, under the same shown name. The
  /// file stays flat as long as the result lives. Needs a slot (NoSlot).
  std::shared_ptr<void> force_flat(Request& request, NodeId node);
  /// Must be called after a file got another name or directory. Queues a commit if it needs another
  /// representation there.
  void update_representation(Request& request, NodeId node);
  /// Must be called after the last known name of `file` was removed. Marks its content as an
  /// orphan, whose dirty bytes are never committed. Then calls `has_name`. If that returns true,
  /// the file has another name, and its content is no orphan any more.
  void removed(const std::shared_ptr<const OpenContainer>& file,
               const std::function<bool()>& has_name);
  /// As truncate(2).
  void resize(Request& request, NodeId node, std::int64_t size);
  /// Sets the times of the node's open container. False if the node has no open container, or one
  /// that cannot be written: the caller then sets the times of the stored file alone. UTIME_NOW as
  /// in utimensat(2).
  bool set_times(Request& request, NodeId node, const timespec& accessed, const timespec& modified);
  /// Sets a metalayer, or removes it if `content` is empty. `flags` as in setxattr(2), with EEXIST
  /// and ENODATA. EINVAL and ENOSPC if a frame has no room for it; EOPNOTSUPP for fixed metalayers
  /// of a file with hard links.
  void set_metalayer(Request& request, NodeId node, const LayerName& name,
                     const LayerChange& content, int flags);

 private:
  std::shared_ptr<const OpenContainer> open_to_change(Request& request, NodeId node);
  using Work = std::function<void(const std::shared_ptr<const OpenContainer>&)>;
  /// Opens the node's container and runs `work` on it. Retries if another program has changed the
  /// file.
  void change(Request& request, NodeId node, FairShare::Part descriptors, const Work& work);
  void put_metalayer(const Change& change, Content& content, const LayerName& name,
                     const LayerChange& value, int flags) EXCLUDES(metalayers_);
  void commit_briefly(const Committer::Contents& contents);

  const SourceServices& services_;
  Source* source_ = nullptr;
  /// Threads that wait in follow() for another program to finish writing.
  std::atomic<int> waiting_{0};
  /// One mutex for all files. Held from the check that a frame has room for a metalayer until that
  /// metalayer is set. So two metalayers cannot both take the last room.
  Mutex metalayers_{LockLevel::queue};
};

}  // namespace bloscfs::fs
