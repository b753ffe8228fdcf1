#pragma once
// What changes of names and attributes ask of the contents of writable containers.

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/content_home.hpp"
#include "fs/node_table.hpp"

namespace bloscfs::fs {

/// Thread-safe. Called without any lock of the tree; errors are those of the commits that calls
/// need. Nodes exist as long as a call lasts, and as long as somebody has their home.
class Contents {
 public:
  virtual ~Contents() = default;

  /// A new empty file has been made. The mount shows it, SOURCE has a temporary: it is in the
  /// content's hands to commit it, also if nobody ever opens it.
  virtual void created(NodeId node, std::shared_ptr<ContentHome> home) = 0;

  /// Commits what these nodes have not yet committed, and makes it durable if `sync`.
  virtual void commit(const std::vector<NodeId>& nodes, bool sync) = 0;

  /// Makes an array a flat frame of the bytes that it shows, under the same shown name. It stays
  /// one as long as the result lives.
  virtual std::shared_ptr<void> hold_flat(NodeId node, std::shared_ptr<ContentHome> home) = 0;

  /// The file has another name or place, which may ask for another representation.
  virtual void renamed(NodeId node, std::shared_ptr<ContentHome> home) = 0;

  /// Its last name has been removed; what is dirty need not be committed any more.
  virtual void removed(NodeId node) = 0;

  virtual void resize(NodeId node, std::shared_ptr<ContentHome> home, std::int64_t size) = 0;

  /// False if nothing is open of the file, or nothing that could be written: the times are then the
  /// source file's alone.
  virtual bool set_times(NodeId node, std::shared_ptr<ContentHome> home, const timespec& accessed,
                         const timespec& modified) = 0;

  /// Sets a vlmetalayer, or removes it if there is no content. `flags` as in setxattr(2).
  virtual void set_vlmetalayer(NodeId node, std::shared_ptr<ContentHome> home,
                               const std::string& name, const std::optional<std::string>& content,
                               int flags) = 0;

  /// A plain file whose last writer has left it with the bytes of a container: stores those bytes
  /// as a flat frame, by a temporary file and settle().
  virtual void store_bytes_as_frame(NodeId node, std::shared_ptr<ContentHome> home) = 0;
};

}  // namespace bloscfs::fs
