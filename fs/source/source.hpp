#pragma once
// Where the files of a mount come from.

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
  /// Opens such a file to read it; null where SOURCE is no directory.
  std::function<frame::UniqueFd()> open_plain;
  /// Of the file, of a sparse frame those of all its files; 0 for a leaf in a store.
  std::int64_t bytes = 0;
  bool may_lack_contents = false;  ///< see missing_contents() (fs/view/stored_contents.hpp)
};

/// Where the extended attributes of a node come from.
struct AttributeFacts {
  enum class Of : std::uint8_t {
    nothing,    ///< what is stored has attributes, if anything has
    container,  ///< a frame: its metalayers and what it is
    group,      ///< a directory of a store: the metalayers of its group, and what kind it is
  };
  Of of = Of::nothing;
  bool has_metalayers = true;  ///< containers: false if there are none to list
  /// Those that the stored file has: their names, and the value of one. ENODATA. Null where it can
  /// have none: EOPNOTSUPP.
  std::function<std::vector<std::string>()> stored_names;
  std::function<std::string(const std::string& name)> stored_value;
  /// Nobody changes one through the mount: EROFS.
  bool is_read_only = false;
  /// The node stands for nothing that could have one: EPERM.
  bool is_virtual = false;
  /// Of a container: the state that its file is in, where that costs no work to tell.
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

  /// The entry shown as `name`; counts one reference of the kernel. nullopt if there is none.
  virtual std::optional<FoundNode> lookup(Request& request, NodeId directory,
                                          const std::string& name) = 0;
  /// Counts another reference to a node.
  virtual FoundNode reference(Request& request, NodeId node) = 0;
  virtual NodeId parent(NodeId node) = 0;
  /// `if_many` is called once it is known that the directory has many entries, perhaps repeatedly.
  /// nullopt where it gives false.
  virtual std::optional<std::vector<DirectoryEntry>> list(Request& request, NodeId directory,
                                                          const IfMany& if_many) = 0;
  /// An entry of a listing with its attributes, as lookup() gives them. Where attributes take much
  /// work the result has the id 0, and no reference.
  virtual std::optional<FoundNode> enter(Request& request, NodeId directory,
                                         const DirectoryEntry& entry) = 0;
  virtual void forget(NodeId node, std::uint64_t references) = 0;
  virtual std::string read_link(Request& request, NodeId node) = 0;
  /// Called at the end of a listing. EIO if damage left the listing incomplete.
  virtual void require_listed(Request& request, NodeId directory) = 0;

  // --- attributes

  virtual struct stat attributes(Request& request, NodeId node) = 0;
  virtual void check_access(Request& request, NodeId node, int mask) = 0;
  virtual struct statvfs stat_filesystem() = 0;
  /// The owner of the stored file, also where the mount shows another one.
  virtual uid_t owner(NodeId node) = 0;
  /// The name of a node in messages: a path below SOURCE, or a URL.
  virtual std::string told_path(NodeId node) = 0;
  /// How a regular file is stored. codec::Error if it begins as a frame and is damaged.
  virtual StoredForm stored_form(Request& request, NodeId node) = 0;
  /// True if requests for the node may take long, so that they must end when the caller gives up.
  virtual bool is_far(NodeId node) = 0;

  // --- extended attributes

  virtual AttributeFacts attribute_facts(Request& request, NodeId node) = 0;
  /// The committed frame whose metalayers the node shows; null if there is none.
  virtual std::shared_ptr<const frame::Snapshot> frame_of(Request& request, NodeId node) = 0;
  /// Of a group. Nothing if it has none of that name.
  virtual std::optional<std::string> group_attribute(Request& request, NodeId node,
                                                     const std::string& name) = 0;
  /// Of the stored file. `value`: null to remove it. `flags` as in setxattr(2).
  virtual void set_stored_attribute(Request& request, NodeId node, const std::string& name,
                                    const std::string* value, int flags) = 0;

  // --- open files

  /// `descriptors`: the result of take_descriptors(), for a new file; the handle keeps them. The
  /// caller closes the handle.
  virtual OpenedFile open(Request& request, NodeId node, int flags,
                          FairShare::Part descriptors) = 0;
  /// One caller at a time tells the kernel of a change: false where somebody has begun since the
  /// last one. Until the end others find the file changed as well.
  virtual bool begin_telling(NodeId /*node*/) { return false; }
  virtual void end_telling(NodeId /*node*/) {}

  // --- what the contents of containers ask

  /// What is open of a node; null if no container is.
  virtual std::shared_ptr<const OpenContainer> opened(NodeId node) = 0;
  /// The same, opened if it is not yet. For a change: ESTALE where the node's state has gone, EROFS
  /// of what nobody can change.
  virtual std::shared_ptr<const OpenContainer> open_container(Request& request, NodeId node,
                                                              bool for_change) = 0;
  /// What all handles of a new file share.
  virtual void set_opened(NodeId node, const std::shared_ptr<const OpenContainer>& file) = 0;
  /// Keeps the node as long as it lives.
  virtual std::shared_ptr<ContentHome> home(NodeId node) = 0;
  /// True if the stored file is as `file` left it: its state is noted, so that nobody takes it for
  /// a change.
  virtual bool confirm(NodeId /*node*/, const OpenContainer& /*file*/) { return false; }
  /// Nobody gets `file` for the node any more, nor what the kernel has of it.
  virtual void retire(NodeId /*node*/, const OpenContainer& /*file*/) {}
  /// The last size that a writer knew, at its close.
  virtual void left(NodeId /*node*/, std::int64_t /*size*/) {}
  /// True where a file is committed before its close is answered.
  virtual bool is_space_scarce() { return false; }
  /// ENOSPC where there is no room for so many bytes more.
  virtual void require_space(std::int64_t /*size*/) {}
  /// Of the committer, which a mount starts that can write: what depends on SOURCE.
  virtual Committer::Services committing() = 0;

  // --- changes

  /// Reserves the descriptors of a new file before it is created, or of one that is opened to be
  /// changed. EMFILE.
  virtual FairShare::Part take_descriptors(Request& /*request*/) { return {}; }
  /// Where nothing can wait; empty where there is nothing left for the user.
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
  /// Clears the set-user-ID and set-group-ID bits that a change of the contents takes.
  virtual void drop_privileges(Request& request, NodeId node) = 0;
  /// As chown(2), chmod(2) and utimensat(2). Setting owner or group clears those bits, even if
  /// neither changes.
  virtual void set_attributes(Request& request, NodeId node, NewAttributes wanted) = 0;
  /// As truncate(2).
  virtual void resize(Request& request, NodeId node, std::int64_t size) = 0;

  // --- as a whole

  /// The value of the root's attribute kStatsAttribute.
  virtual std::string statistics() = 0;
  /// Frees what is not used any more. Called each second while the mount is in use, and afterwards
  /// while it returns true: something is left that is to be freed later.
  virtual bool tidy() { return false; }
  /// Called before the last commits; stops work in the background.
  virtual void begin_end() {}
};

}  // namespace bloscfs::fs
