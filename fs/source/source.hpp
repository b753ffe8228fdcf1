#pragma once
// The interface by which a mount gets its files.

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "frame/container/snapshot.hpp"
#include "frame/store/byte_source.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/commit/committer.hpp"
#include "fs/content/content_home.hpp"
#include "fs/content/open_file.hpp"
#include "fs/source/file_handle.hpp"
#include "fs/source/node.hpp"
#include "fs/support/caller.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// The result of opening a file.
struct OpenedFile {
  std::shared_ptr<FileHandle> handle;
  bool changed = false;  ///< the kernel's cached pages and attributes of the file are stale
};

/// How SOURCE holds what a mount shows as a regular file.
struct StoredForm {
  std::shared_ptr<const frame::Snapshot> frame;  ///< null: the file is shown as it is stored
  /// Opens a file that is shown as it is stored, to read it. Null unless SOURCE is a directory of
  /// files.
  std::function<frame::UniqueFd()> open_plain;
  /// Size of the file; for a sparse frame the sum of its files; 0 for a leaf in a store.
  std::int64_t bytes = 0;
  bool may_lack_contents = false;  ///< see missing_contents() (fs/view/stored_contents.hpp)
};

/// Where the extended attributes of a node come from.
struct AttributeFacts {
  enum class Of : std::uint8_t {
    nothing,    ///< nothing but the stored file's own attributes
    container,  ///< a frame: its metalayers, and attributes that describe it
    group,      ///< a directory of a store: the metalayers of its group, and its kind
  };
  Of of = Of::nothing;
  bool has_metalayers = true;  ///< containers: false if there are none to list
  /// stored_names() returns the names of the stored file's attributes. stored_value() returns the
  /// value of one, or throws ENODATA. Both are null if the file can have no attributes of its own;
  /// to set one fails with EOPNOTSUPP.
  std::function<std::vector<std::string>()> stored_names;
  std::function<std::string(const std::string& name)> stored_value;
  /// The mount cannot change the attributes: a change fails with EROFS.
  bool is_read_only = false;
  /// The node stands for no file that could have attributes: a change fails with EPERM.
  bool is_virtual = false;
  /// Containers: the state of the stored file, if that is known without work.
  std::optional<FileState> state;
};

/// Looks up, lists, opens and changes the files of a mount. LocalSource serves the files of a
/// directory, RemoteSource the objects of a URL. Callers see shown names and node ids only.
/// Thread-safe. Throws std::system_error and codec::Error, and NoSlot before long work.
class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// If false, every change fails with EROFS.
  virtual bool is_writable() const = 0;
  void require_writable(const std::string& name) const {
    if (!is_writable()) frame::throw_errno(EROFS, name);
  }

  // --- names

  /// Returns the entry shown as `name`, and counts one reference of the kernel. nullopt if the
  /// directory shows no such entry.
  virtual std::optional<FoundNode> lookup(Request& request, NodeId directory,
                                          const std::string& name) = 0;
  /// Counts another reference of the kernel to a node.
  virtual FoundNode reference(Request& request, NodeId node) = 0;
  virtual NodeId parent(NodeId node) = 0;
  /// Lists a directory. Calls `on_many_entries`, perhaps repeatedly, once it is known that the
  /// directory has many entries. nullopt if that returns false.
  virtual std::optional<std::vector<DirectoryEntry>> list(Request& request, NodeId directory,
                                                          const OnManyEntries& on_many_entries) = 0;
  /// Returns an entry of a listing with its attributes, like lookup(). If the attributes would take
  /// much work, the result has the id 0 and counts no reference.
  virtual std::optional<FoundNode> enter(Request& request, NodeId directory,
                                         const DirectoryEntry& entry) = 0;
  virtual void forget(NodeId node, std::uint64_t references) = 0;
  virtual std::string read_link(Request& request, NodeId node) = 0;
  /// Called at the end of a listing. Throws EIO if damage left the listing incomplete.
  virtual void require_listed(Request& request, NodeId directory) = 0;

  // --- attributes

  virtual struct stat attributes(Request& request, NodeId node) = 0;
  virtual void check_access(Request& request, NodeId node, int mask) = 0;
  virtual struct statvfs stat_filesystem() = 0;
  /// Returns the owner of the stored file, even if the mount shows another one.
  virtual uid_t owner(NodeId node) = 0;
  /// Returns the name of a node for messages: a path below SOURCE, or a URL.
  virtual std::string display_path(NodeId node) = 0;
  /// Returns how a regular file is stored. Throws codec::Error if the file begins like a frame but
  /// is damaged.
  virtual StoredForm stored_form(Request& request, NodeId node) = 0;
  /// True if requests for the node may take long, so that they must end when the caller gives up.
  virtual bool is_over_network(NodeId node) = 0;

  // --- extended attributes

  virtual AttributeFacts attribute_facts(Request& request, NodeId node) = 0;
  /// Returns the committed frame whose metalayers the node shows; null if there is none.
  virtual std::shared_ptr<const frame::Snapshot> frame_of(Request& request, NodeId node) = 0;
  /// Returns an attribute of a group; nullopt if the group has none of that name.
  virtual std::optional<std::string> group_attribute(Request& request, NodeId node,
                                                     const std::string& name) = 0;
  /// Sets an attribute of the stored file, or removes it if `value` is null. `flags` as in
  /// setxattr(2).
  virtual void set_stored_attribute(Request& request, NodeId node, const std::string& name,
                                    const std::string* value, int flags) = 0;

  // --- open files

  /// Opens a file. `descriptors` are the result of take_descriptors() for a new file, else empty;
  /// the handle keeps them. The caller closes the handle.
  virtual OpenedFile open(Request& request, NodeId node, int flags,
                          FairShare::Part descriptors) = 0;
  /// Must be called before the kernel is notified that a file has changed. False if another caller
  /// has begun to notify the kernel since the last change. Until end_notifying_kernel(), opens
  /// still report the file as changed.
  virtual bool begin_notifying_kernel(NodeId /*node*/) { return false; }
  virtual void end_notifying_kernel(NodeId /*node*/) {}

  // --- for the contents of containers

  /// Returns the node's open container; null if it has none.
  virtual std::shared_ptr<const OpenContainer> opened(NodeId node) = 0;
  /// Like opened(), but opens the container if necessary. With `for_change`: ESTALE if the node's
  /// state is gone, EROFS if the node can never be changed.
  virtual std::shared_ptr<const OpenContainer> open_container(Request& request, NodeId node,
                                                              bool for_change) = 0;
  /// Sets the open container of a new file, which all handles of the node share.
  virtual void set_opened(NodeId node, const std::shared_ptr<const OpenContainer>& file) = 0;
  /// Returns where the node's content is stored. The result keeps the node as long as it lives.
  virtual std::shared_ptr<ContentHome> home(NodeId node) = 0;
  /// True if the stored file is as `file` left it. In that case also gives the node the stored
  /// file's state, so that a changed mode or number of links does not count as another program's
  /// change.
  virtual bool confirm(NodeId /*node*/, const OpenContainer& /*file*/) { return false; }
  /// Detaches `file` from the node. The next open has the kernel drop its cached pages.
  virtual void retire(NodeId /*node*/, const OpenContainer& /*file*/) {}
  /// Called at a writer's close with the file's size.
  virtual void left(NodeId /*node*/, std::int64_t /*size*/) {}
  /// True if SOURCE is so short of space that a file must be committed before its close is
  /// answered.
  virtual bool is_space_scarce() { return false; }
  /// Throws ENOSPC if SOURCE has no room for `size` more bytes.
  virtual void require_space(std::int64_t /*size*/) {}
  /// Returns those services of the committer that depend on SOURCE. Only writable mounts start a
  /// committer.
  virtual Committer::Services committing() = 0;

  // --- changes

  /// Reserves descriptors for a new file before it is created, or for a file that is opened to be
  /// changed. Throws EMFILE if the user's share is used up.
  virtual FairShare::Part take_descriptors(Request& /*request*/) { return {}; }
  /// Like take_descriptors(), but never waits. Empty if the user's share is used up.
  virtual FairShare::Part take_descriptors_at_once(Request& /*request*/) { return {}; }
  virtual FoundNode create_file(Request& request, NodeId directory, const std::string& name,
                                mode_t mode) = 0;
  virtual FoundNode make_directory(Request& request, NodeId directory, const std::string& name,
                                   mode_t mode) = 0;
  virtual FoundNode make_symlink(Request& request, NodeId directory, const std::string& name,
                                 const std::string& target) = 0;
  virtual FoundNode make_special(Request& request, NodeId directory, const std::string& name,
                                 mode_t mode, dev_t device) = 0;
  virtual FoundNode make_link(Request& request, NodeId node, NodeId directory,
                              const std::string& name) = 0;
  virtual void remove_file(Request& request, NodeId directory, const std::string& name) = 0;
  virtual void remove_directory(Request& request, NodeId directory, const std::string& name) = 0;
  virtual void rename(Request& request, NodeId from, const std::string& from_name, NodeId to,
                      const std::string& to_name, unsigned flags) = 0;
  virtual void sync_directory(Request& request, NodeId directory) = 0;
  /// Clears the set-user-ID and set-group-ID bits as a change of the contents must.
  virtual void drop_privileges(Request& request, NodeId node) = 0;
  /// As chown(2), chmod(2) and utimensat(2). Setting owner or group clears the set-user-ID and
  /// set-group-ID bits, even if neither changes.
  virtual void set_attributes(Request& request, NodeId node, NewAttributes wanted) = 0;
  /// As truncate(2).
  virtual void resize(Request& request, NodeId node, std::int64_t size) = 0;

  // --- as a whole

  /// Returns the value of the root's attribute kStatsAttribute.
  virtual std::string statistics() = 0;
  struct Rescue {
    std::string folder;  ///< path of the rescue folder; empty if there is none
    std::uint64_t free_bytes = 0;
    std::string obstacle = {};  ///< why there is none; may be empty
  };
  virtual Rescue rescue() { return {}; }
  /// Frees what is no longer used. Called once a second while the mount is in use, and afterwards
  /// as long as it returns true: something is left to be freed later.
  virtual bool tidy() { return false; }
  /// Stops work in the background. Called before the last commits.
  virtual void begin_end() {}
};

}  // namespace bloscfs::fs
