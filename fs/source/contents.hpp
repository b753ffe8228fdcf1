#pragma once
// The contents of a mount's containers by node: what a Source, handles and extended attributes ask
// of them.

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

/// One for all nodes, whatever Source the mount has. Thread-safe. Called without any lock of the
/// Source, but for created(). Throws what the commits throw that a call needs. A node exists as
/// long as a call lasts, and as long as somebody has its home.
class Contents {
 public:
  /// `services` outlive this object.
  explicit Contents(const SourceServices& services) : services_(services) {}

  /// Called once, before the first request. `source` outlives the last one.
  void set_source(Source& source) { source_ = &source; }
  Source& source() const { return *source_; }
  const SourceServices& services() const { return services_; }

  // --- other programs' changes

  /// Looks whether another program has changed the file of what is open of a node, and lets the
  /// content go on from what is there now.
  void follow(Request& request, NodeId node);
  /// The same; an error is logged, once.
  void try_follow(Request& request, NodeId node);
  /// Lets a content that somebody writes go on from another program's state. What is being written
  /// is waited for up to two seconds, unless too many do so already.
  FollowResult follow(Request& request, const std::shared_ptr<Content>& content,
                      IfBeingWritten unfinished);
  /// The same for a request, which waits: true if it went on. Throws ESTALE while it is being
  /// written.
  bool go_on(Request& request, const std::shared_ptr<Content>& content);
  /// True if the content went on since that `epoch`, for whoever asked first.
  bool has_gone_on(Request& request, const std::shared_ptr<Content>& content, std::uint64_t epoch);
  /// True if a change failed with `error` only because the content has gone on from another state
  /// since `epoch`, so that the caller can try it again.
  bool can_retry(Request& request, const std::system_error& error,
                 const std::shared_ptr<Content>& content, std::uint64_t epoch);

  // --- changes

  /// Throws unless the node's file can be changed: EROFS for what cannot be written, codec::Error
  /// where the file's values must stay what they are. Logs these.
  void require_changeable(Request& request, NodeId node, const Content& content);
  /// Notes that a file has changed. If nobody has it open for writing, a commit is queued, which
  /// keeps the `descriptors` of the closed handle until it is done.
  void changed(const std::shared_ptr<const OpenContainer>& file, FairShare::Part descriptors);
  /// A new empty file has been made, and SOURCE has at most a temporary of it. It is committed as
  /// one that stays open: changed() tells of one that nobody opens. Called before anybody else sees
  /// the name, so that nobody judges by its bytes what is not complete.
  void created(const Change& change, NodeId node, const struct stat& shown);
  /// Commits what these nodes have not yet committed, durably. NoSlot if there is anything.
  void commit(Request& request, const std::vector<NodeId>& nodes);
  /// Makes an array a flat frame of the bytes that it shows, under the same shown name. It stays
  /// one as long as the result lives. NoSlot.
  std::shared_ptr<void> hold_flat(Request& request, NodeId node);
  /// The file has another name or place, which asks for another representation.
  void represent_anew(Request& request, NodeId node);
  /// The last name of `file` has been removed: what is dirty need not be committed any more, unless
  /// `has_name` finds another name by then.
  void removed(const std::shared_ptr<const OpenContainer>& file,
               const std::function<bool()>& has_name);
  /// As truncate(2).
  void resize(Request& request, NodeId node, std::int64_t size);
  /// False if nothing is open of the file, or nothing that could be written: the times are then the
  /// stored file's alone. UTIME_NOW as in utimensat(2).
  bool set_times(Request& request, NodeId node, const timespec& accessed, const timespec& modified);
  /// Sets a metalayer, or removes it without a `content`. `flags` as in setxattr(2): EEXIST and
  /// ENODATA. EINVAL and ENOSPC for what a frame has no room for; EOPNOTSUPP for fixed ones of a
  /// file with hard links.
  void set_metalayer(Request& request, NodeId node, const LayerName& name,
                     const LayerChange& content, int flags);

 private:
  std::shared_ptr<const OpenContainer> open_to_change(Request& request, NodeId node);
  using Work = std::function<void(const std::shared_ptr<const OpenContainer>&)>;
  /// Runs `work` on the content opened for it, again where that finds another program's change.
  void change(Request& request, NodeId node, FairShare::Part descriptors, const Work& work);
  void put_metalayer(const Change& change, Content& content, const LayerName& name,
                     const LayerChange& value, int flags) EXCLUDES(metalayers_);
  void commit_briefly(const Committer::Contents& contents);

  const SourceServices& services_;
  Source* source_ = nullptr;
  std::atomic<int> waiting_{0};  ///< for what is being written
  /// Of all files: a metalayer that was found to have room is set before another one is looked at.
  Mutex metalayers_{LockLevel::queue};
};

}  // namespace bloscfs::fs
