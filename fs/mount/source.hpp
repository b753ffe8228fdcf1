#pragma once
// Where the files of a mount come from.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "fs/mount/file_handle.hpp"
#include "fs/source/caller.hpp"
#include "fs/source/node.hpp"
#include "fs/source/stored_form.hpp"
#include "fs/support/fair_share.hpp"

namespace bloscfs::fs {

/// The result of opening a file.
struct OpenedFile {
  std::shared_ptr<FileHandle> handle;
  bool changed = false;  ///< the kernel's cached pages and attributes of the file are stale
  FairShare::Part descriptors;
};

/// Looks up, lists, opens and changes the files of a mount. LocalSource serves the files of a
/// directory, RemoteSource the objects of a URL. Callers see shown names and node ids only.
/// Thread-safe. Throws std::system_error and codec::Error, and NoTurn before long work. References
/// to nodes are counted as Tree's functions of the same names say.
class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// If false, every change fails with EROFS.
  virtual bool is_writable() const = 0;

  // --- names

  virtual std::optional<FoundNode> lookup(NodeId directory, const std::string& name) = 0;
  virtual FoundNode reference(NodeId node) = 0;
  virtual NodeId parent(NodeId node) = 0;
  virtual std::vector<DirectoryEntry> list(NodeId directory,
                                           const std::function<void()>& if_many) = 0;
  /// An entry of a listing with its attributes, as lookup() gives them. Where attributes take much
  /// work the result has the id 0, and no reference.
  virtual std::optional<FoundNode> enter(NodeId directory, const DirectoryEntry& entry) = 0;
  virtual void forget(NodeId node, std::uint64_t references) = 0;
  virtual std::string read_link(NodeId node) = 0;
  /// Called at the end of a listing. EIO if damage left the listing incomplete.
  virtual void require_listed(NodeId directory) = 0;

  // --- attributes

  virtual struct stat attributes(NodeId node) = 0;
  virtual void check_access(NodeId node, int mask) = 0;
  virtual struct statvfs stat_filesystem() = 0;
  /// The owner of the stored file, also where the mount shows another one.
  virtual uid_t owner(NodeId node) = 0;
  virtual std::vector<std::string> attribute_names(NodeId node) = 0;
  virtual std::string attribute(NodeId node, const std::string& name) = 0;
  /// The name of a node in messages: a path below SOURCE, or a URL.
  virtual std::string told_path(NodeId node) = 0;
  /// How a regular file is stored. codec::Error if it begins as a frame and is damaged.
  virtual StoredForm stored_form(NodeId node) = 0;
  /// True if requests for the node may take long, so that they must end when the caller gives up.
  virtual bool is_far(NodeId node) = 0;

  // --- open files

  /// `descriptors`: the result of take_descriptors(), for a new file. The caller closes the handle.
  virtual OpenedFile open(NodeId node, int flags, FairShare::Part descriptors) = 0;
  /// As Tree's functions: one caller at a time tells the kernel of a change.
  virtual bool begin_telling(NodeId /*node*/) { return false; }
  virtual void end_telling(NodeId /*node*/) {}

  // --- changes

  /// Reserves the descriptors of a new file before it is created. Errors as DescriptorShares::take.
  virtual FairShare::Part take_descriptors() { return {}; }
  /// Gives them to a new file that nobody opens, until its commit.
  virtual void give_descriptors(NodeId /*node*/, FairShare::Part /*descriptors*/) {}
  virtual FoundNode create_file(NodeId directory, const std::string& name, mode_t mode,
                                const Caller& caller) = 0;
  virtual FoundNode make_directory(NodeId directory, const std::string& name, mode_t mode,
                                   const Caller& caller) = 0;
  virtual FoundNode make_symlink(NodeId directory, const std::string& name,
                                 const std::string& target, const Caller& caller) = 0;
  virtual FoundNode make_special(NodeId directory, const std::string& name, mode_t mode,
                                 dev_t device, const Caller& caller) = 0;
  virtual FoundNode make_link(NodeId node, NodeId directory, const std::string& name,
                              const Caller& caller) = 0;
  virtual void remove_file(NodeId directory, const std::string& name, const Caller& caller) = 0;
  virtual void remove_directory(NodeId directory, const std::string& name,
                                const Caller& caller) = 0;
  virtual void rename(NodeId from, const std::string& from_name, NodeId to,
                      const std::string& to_name, unsigned flags, const Caller& caller) = 0;
  virtual void sync_directory(NodeId directory) = 0;
  /// Called before contents or attributes of a node are changed.
  virtual void before_changing(NodeId /*node*/, const Caller& /*caller*/) {}
  /// Clears the set-user-ID and set-group-ID bits that a change of the contents takes.
  virtual void drop_privileges(NodeId node, const Caller& caller) = 0;
  /// As chown(2), chmod(2) and utimensat(2). Setting owner or group clears those bits, even if
  /// neither changes.
  virtual void set_attributes(NodeId node, NewAttributes wanted, const Caller& caller) = 0;
  /// As truncate(2).
  virtual void resize(NodeId node, std::int64_t size) = 0;
  virtual void set_attribute(NodeId node, const std::string& name, const std::string& value,
                             int flags, const Caller& caller) = 0;
  virtual void remove_attribute(NodeId node, const std::string& name, const Caller& caller) = 0;
  /// Sets the function that ContentHome::forget_pages() calls.
  using ForgetPages = std::function<void(NodeId node, std::function<void()> done)>;
  virtual void set_forget_pages(const ForgetPages& /*forget_pages*/) {}
  /// Sets the function that ContentHome::forget_attributes() calls.
  using ForgetAttributes = std::function<void(NodeId node)>;
  virtual void set_forget_attributes(const ForgetAttributes& forget_attributes) = 0;

  // --- as a whole

  /// The value of the root's attribute kStatsAttribute.
  virtual std::string statistics() = 0;
  /// Called every second; frees what is not used any more.
  virtual void tidy() {}
  /// Called before the last commits; stops work in the background.
  virtual void begin_end() {}
};

}  // namespace bloscfs::fs
