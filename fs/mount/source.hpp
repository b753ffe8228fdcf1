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
#include "fs/names/namespace.hpp"
#include "fs/source/caller.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/tree/stored_form.hpp"
#include "fs/tree/tree.hpp"

namespace bloscfs::fs {

/// A file that is about to be open.
struct OpenedFile {
  std::shared_ptr<FileHandle> handle;
  bool changed = false;  ///< the kernel's pages and attributes of the file are out of date
  FairShare::Part descriptors;
};

/// Names and attributes of a mount's files, and what opens them: of files below a directory
/// (LocalSource), or of objects (RemoteSource). Knows shown names and nodes; a Mount has the rest.
/// Thread-safe. Errors: std::system_error, codec::Error; NoTurn before what takes long. Nodes have
/// the references that Tree's functions of the same names say.
class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// False: every change is EROFS.
  virtual bool is_writable() const = 0;

  // --- names

  virtual std::optional<Tree::Found> lookup(NodeId directory, const std::string& name) = 0;
  virtual Tree::Found reference(NodeId node) = 0;
  virtual NodeId parent(NodeId node) = 0;
  virtual std::vector<Tree::DirectoryEntry> list(NodeId directory,
                                                 const std::function<void()>& if_many) = 0;
  /// An entry of a listing with its attributes, as lookup(). With the id 0, and without a
  /// reference, where they take much work and nobody may want them.
  virtual std::optional<Tree::Found> enter(NodeId directory, const Tree::DirectoryEntry& entry) = 0;
  virtual void forget(NodeId node, std::uint64_t references) = 0;
  virtual std::string read_link(NodeId node) = 0;
  /// EIO at the end of a listing that damage has left incomplete.
  virtual void require_listed(NodeId directory) = 0;

  // --- attributes

  virtual struct stat attributes(NodeId node) = 0;
  virtual void check_access(NodeId node, int mask) = 0;
  virtual struct statvfs stat_filesystem() = 0;
  /// The user whose file the node is, whatever is shown.
  virtual uid_t owner(NodeId node) = 0;
  virtual std::vector<std::string> attribute_names(NodeId node) = 0;
  virtual std::string attribute(NodeId node, const std::string& name) = 0;
  /// Path below SOURCE, or what else is told of a node in messages.
  virtual std::string told_path(NodeId node) = 0;
  /// Of a regular file. codec::Error where its bytes announce a frame and contradict that.
  virtual StoredForm stored_form(NodeId node) = 0;
  /// True for what is not at hand: much of what is asked of it takes long, and must end with who
  /// asked.
  virtual bool is_far(NodeId node) = 0;

  // --- open files

  /// `descriptors`: what take_descriptors() has given for it. Who gets the handle is to close it.
  virtual OpenedFile open(NodeId node, int flags, FairShare::Part descriptors) = 0;
  /// As Tree's: who tells the kernel of a change.
  virtual bool begin_telling(NodeId /*node*/) { return false; }
  virtual void end_telling(NodeId /*node*/) {}

  // --- changes

  /// For a new file, before it is made. Errors as DescriptorShares::take's.
  virtual FairShare::Part take_descriptors() { return {}; }
  /// A new file that nobody opens has them until its commit.
  virtual void give_descriptors(NodeId /*node*/, FairShare::Part /*descriptors*/) {}
  virtual Tree::Found create_file(NodeId directory, const std::string& name, mode_t mode,
                                  const Caller& caller) = 0;
  virtual Tree::Found make_directory(NodeId directory, const std::string& name, mode_t mode,
                                     const Caller& caller) = 0;
  virtual Tree::Found make_symlink(NodeId directory, const std::string& name,
                                   const std::string& target, const Caller& caller) = 0;
  virtual Tree::Found make_special(NodeId directory, const std::string& name, mode_t mode,
                                   dev_t device, const Caller& caller) = 0;
  virtual Tree::Found make_link(NodeId node, NodeId directory, const std::string& name,
                                const Caller& caller) = 0;
  virtual void remove_file(NodeId directory, const std::string& name, const Caller& caller) = 0;
  virtual void remove_directory(NodeId directory, const std::string& name,
                                const Caller& caller) = 0;
  virtual void rename(NodeId from, const std::string& from_name, NodeId to,
                      const std::string& to_name, unsigned flags, const Caller& caller) = 0;
  virtual void sync_directory(NodeId directory) = 0;
  /// Before contents or attributes of a node are changed.
  virtual void before_changing(NodeId /*node*/, const Caller& /*caller*/) {}
  /// Clears the set-user-ID and set-group-ID bits that a change of the contents takes.
  virtual void drop_privileges(NodeId node, const Caller& caller) = 0;
  /// As chown(2), chmod(2) and utimensat(2), which clears such bits where the owner or the group is
  /// set, also to what it is.
  virtual void set_attributes(NodeId node, NewAttributes wanted, const Caller& caller) = 0;
  /// As truncate(2).
  virtual void resize(NodeId node, std::int64_t size) = 0;
  virtual void set_attribute(NodeId node, const std::string& name, const std::string& value,
                             int flags, const Caller& caller) = 0;
  virtual void remove_attribute(NodeId node, const std::string& name, const Caller& caller) = 0;
  /// Has `forget_pages` called as ContentHome::forget_pages() says.
  using ForgetPages = std::function<void(NodeId node, std::function<void()> done)>;
  virtual void set_forget_pages(const ForgetPages& /*forget_pages*/) {}
  /// The same for ContentHome::forget_attributes().
  using ForgetAttributes = std::function<void(NodeId node)>;
  virtual void set_forget_attributes(const ForgetAttributes& forget_attributes) = 0;

  // --- as a whole

  /// As the attribute kStatsAttribute of the root.
  virtual std::string statistics() = 0;
  /// Called every second: what nobody asks for any more is let go of.
  virtual void tidy() {}
  /// Before the last commits: nothing is done in the background any more.
  virtual void begin_end() {}
};

}  // namespace bloscfs::fs
