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
/// asks the committer to commit them. Each mount has one, whatever its Source is. Thread-safe.
/// The caller holds no lock of the Source, except for created(). A call that commits throws the
/// errors of that commit. A node exists as long as a call for it lasts, and as long as its home()
/// is held.
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
  /// waits up to two seconds for it with IfBeingWritten::wait. Returns `being_written` after that,
  /// or at once if four threads wait already.
  FollowResult follow(Request& request, const std::shared_ptr<Content>& content,
                      IfBeingWritten unfinished);
  /// Like follow() with IfBeingWritten::wait. True if the content followed. Throws ESTALE if the
  /// file is still being written.
  bool go_on(Request& request, const std::shared_ptr<Content>& content);
  /// Like go_on(), but also true if another caller has made the content follow since `epoch`.
  bool has_gone_on(Request& request, const std::shared_ptr<Content>& content, std::uint64_t epoch);
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
  /// Commits the uncommitted changes of these nodes durably. NoSlot if there are any.
  void commit(Request& request, const std::vector<NodeId>& nodes);
  /// Stores an array as a flat frame of the bytes that it shows, under the same shown name. The
  /// file stays flat as long as the result lives. NoSlot.
  std::shared_ptr<void> force_flat(Request& request, NodeId node);
  /// Must be called after a file got another name or directory. Queues a commit if it needs another
  /// representation there.
  void update_representation(Request& request, NodeId node);
  /// Must be called after the last known name of `file` was removed. Its dirty bytes need not be
  /// committed any more, unless `has_name`, which is called then, finds another name.
  void removed(const std::shared_ptr<const OpenContainer>& file,
               const std::function<bool()>& has_name);
  /// As truncate(2).
  void resize(Request& request, NodeId node, std::int64_t size);
  /// Sets the times of the node's open container. False if it has none, or if that cannot be
  /// written: the caller then sets the times of the stored file alone. UTIME_NOW as in
  /// utimensat(2).
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
  /// One for all files. Held from the check that a metalayer has room until it is set, so that two
  /// of them cannot both take the last room.
  Mutex metalayers_{LockLevel::queue};
};

}  // namespace bloscfs::fs
