#pragma once
// What a Source, and handles, ask of the contents of containers.

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

#include <sys/stat.h>

#include "fs/content/open_file.hpp"
#include "fs/source/file_handle.hpp"
#include "fs/source/node.hpp"
#include "fs/support/fair_share.hpp"

namespace bloscfs::fs {

/// The mount implements it for whatever Source it has. Thread-safe. Called without any lock of the
/// Source, but for created(). Throws what the commits throw that a call needs. A node exists as
/// long as a call lasts, and as long as somebody has its home.
class Contents {
 public:
  virtual ~Contents() = default;

  /// A handle of what is open of a node. `flags` as of open(2); the caller closes the handle. For
  /// writing: EROFS for what cannot be written, codec::Error where the file's values must stay what
  /// they are, ESTALE where the node has meanwhile given way to another one.
  virtual std::shared_ptr<FileHandle> open(NodeId node,
                                           const std::shared_ptr<const OpenContainer>& file,
                                           int flags) = 0;
  /// Looks whether another program has changed the file of what is open of a node, and lets the
  /// content go on from what is there now.
  virtual void follow(NodeId node) = 0;
  /// The same; an error is logged, once.
  virtual void try_follow(NodeId node) = 0;

  /// True if the content went on since that `epoch`, for whoever asked first.
  virtual bool has_gone_on(const std::shared_ptr<Content>& content, std::uint64_t epoch) = 0;

  /// Notes that a file has changed. If nobody has it open for writing, a commit is queued, which
  /// keeps the `descriptors` of the closed handle until it is done.
  virtual void changed(const std::shared_ptr<const OpenContainer>& file,
                       FairShare::Part descriptors) = 0;

  /// A new empty file has been made, and SOURCE has at most a temporary of it. The content commits
  /// it, also if nobody ever opens it. Called before anybody else sees the name, so that nobody
  /// judges by its bytes what is not complete.
  virtual void created(NodeId node, const struct stat& shown) = 0;

  /// Commits what these nodes have not yet committed, durably. NoTurn if there is anything.
  virtual void commit(const std::vector<NodeId>& nodes) = 0;

  /// Makes an array a flat frame of the bytes that it shows, under the same shown name. It stays
  /// one as long as the result lives. NoTurn.
  virtual std::shared_ptr<void> hold_flat(NodeId node) = 0;

  /// The file has another name or place, which asks for another representation.
  virtual void represent_anew(NodeId node) = 0;

  /// The last name of `file` has been removed: what is dirty need not be committed any more, unless
  /// `has_name` finds another name by then.
  virtual void removed(const std::shared_ptr<const OpenContainer>& file,
                       const std::function<bool()>& has_name) = 0;

  /// As truncate(2).
  virtual void resize(NodeId node, std::int64_t size) = 0;

  /// False if nothing is open of the file, or nothing that could be written: the times are then the
  /// stored file's alone. UTIME_NOW as in utimensat(2).
  virtual bool set_times(NodeId node, const timespec& accessed, const timespec& modified) = 0;
};

}  // namespace bloscfs::fs
