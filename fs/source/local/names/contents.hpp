#pragma once
// What changes of names and attributes ask of the contents of writable containers.

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/content/content_home.hpp"
#include "fs/source/local/tree/node_table.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// Thread-safe. Called without any lock of the tree but by created(); errors are those of the
/// commits that calls need. Nodes exist as long as a call lasts, and as long as somebody has their
/// home.
class Contents {
 public:
  virtual ~Contents() = default;

  /// A new empty file has been made. The mount will show it, SOURCE has a temporary, `file`: it is
  /// in the content's hands to commit it, also if nobody ever opens it. Called before anybody else
  /// sees the name, so that what is not complete is never judged by reading it.
  virtual void created(NodeId node, std::shared_ptr<ContentHome> home, const struct stat& file) = 0;

  /// Commits what these nodes have not yet committed, durably. NoTurn if there is anything.
  virtual void commit(const std::vector<NodeId>& nodes) = 0;

  /// Makes an array a flat frame of the bytes that it shows, under the same shown name. It stays
  /// one as long as the result lives. NoTurn.
  virtual std::shared_ptr<void> hold_flat(NodeId node, std::shared_ptr<ContentHome> home) = 0;

  /// The file has another name or place, which may ask for another representation.
  virtual void renamed(NodeId node, std::shared_ptr<ContentHome> home) = 0;

  /// Its last name has been removed; what is dirty need not be committed any more.
  virtual void removed(NodeId node) = 0;

  virtual void resize(NodeId node, std::shared_ptr<ContentHome> home, std::int64_t size) = 0;

  /// False if nothing is open of the file, or nothing that could be written: the times are then the
  /// source file's alone. UTIME_NOW as in utimensat(2).
  virtual bool set_times(NodeId node, std::shared_ptr<ContentHome> home, const timespec& accessed,
                         const timespec& modified) = 0;

  /// Calls `change`, which sets the times of the source file: what is open of it goes on. Called
  /// with `names_` held.
  virtual void keep_through(NodeId node, const std::function<void()>& change) = 0;

  /// Sets a metalayer, or removes it. `flags` as in setxattr(2). EINVAL and ENOSPC for what a frame
  /// has no room for; EOPNOTSUPP for fixed ones of a file with hard links.
  virtual void set_metalayer(NodeId node, std::shared_ptr<ContentHome> home, const LayerName& name,
                             LayerChange content, int flags) = 0;

  /// A plain file whose last writer has left it with the bytes of a container: stores those bytes
  /// as a flat frame, by a temporary file and give_name().
  virtual void store_bytes_as_frame(ContentHome& home) = 0;
};

}  // namespace bloscfs::fs
