#pragma once
// What the kernel may ask of a mount, whatever its SOURCE is.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "frame/store/clock.hpp"
#include "fs/content/dirty_budget.hpp"
#include "fs/mount/directory_listings.hpp"
#include "fs/mount/file_handle.hpp"
#include "fs/names/namespace.hpp"
#include "fs/options/options.hpp"
#include "fs/source/caller.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/tree/stored_form.hpp"
#include "fs/tree/tree.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors: std::system_error, codec::Error; NoTurn before what takes long. Nodes have
/// the references that Tree's functions of the same names say.
class MountedFiles {
 public:
  MountedFiles() = default;
  virtual ~MountedFiles() = default;
  MountedFiles(const MountedFiles&) = delete;
  MountedFiles& operator=(const MountedFiles&) = delete;

  // --- names

  virtual std::optional<Tree::Found> lookup(NodeId directory, const std::string& name) = 0;
  virtual Tree::Found reference(NodeId node) = 0;
  virtual NodeId parent(NodeId node) = 0;
  /// An entry of a listing with its attributes, as lookup(). With the id 0, and without a
  /// reference, where they take much work and nobody may want them.
  virtual std::optional<Tree::Found> enter(NodeId directory, const Tree::DirectoryEntry& entry) = 0;
  virtual void forget(NodeId node, std::uint64_t references) = 0;
  virtual std::string read_link(NodeId node) = 0;

  /// As DirectoryHandles' (fs/mount/directory_handles.hpp).
  virtual std::uint64_t listings_begun() const = 0;
  virtual std::uint64_t open_directory(NodeId node, std::uint64_t begun) = 0;
  virtual std::shared_ptr<const DirectoryListing> entries(std::uint64_t directory, bool from_start,
                                                          std::uint64_t begun) = 0;
  virtual void release_directory(std::uint64_t directory) = 0;
  /// EIO at the end of a listing that damage has left incomplete.
  virtual void require_listed(NodeId /*directory*/) {}

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

  struct Opened {
    std::uint64_t handle = 0;
    bool changed = false;  ///< the kernel's pages and attributes of the file are out of date
  };
  /// `descriptors`: what take_descriptors() has given for it.
  virtual Opened open(NodeId node, int flags, FairShare::Part descriptors = {}) = 0;
  virtual std::shared_ptr<FileHandle> handle(std::uint64_t number) const = 0;
  virtual void release(std::uint64_t number) = 0;
  /// As Tree's: who tells the kernel of a change.
  virtual bool begin_telling(NodeId /*node*/) { return false; }
  virtual void end_telling(NodeId /*node*/) {}

  // --- changes: EROFS unless said otherwise

  /// For a new file, before it is made. Errors as DescriptorShares::take's.
  virtual FairShare::Part take_descriptors() { return {}; }
  /// A new file that nobody opens has them until its commit.
  virtual void give_descriptors(NodeId /*node*/, FairShare::Part /*descriptors*/) {}
  virtual Tree::Found create_file(NodeId directory, const std::string& name, mode_t mode,
                                  const Caller& caller);
  virtual Tree::Found make_directory(NodeId directory, const std::string& name, mode_t mode,
                                     const Caller& caller);
  virtual Tree::Found make_symlink(NodeId directory, const std::string& name,
                                   const std::string& target, const Caller& caller);
  virtual Tree::Found make_special(NodeId directory, const std::string& name, mode_t mode,
                                   dev_t device, const Caller& caller);
  virtual Tree::Found make_link(NodeId node, NodeId directory, const std::string& name,
                                const Caller& caller);
  virtual void remove_file(NodeId directory, const std::string& name, const Caller& caller);
  virtual void remove_directory(NodeId directory, const std::string& name, const Caller& caller);
  virtual void rename(NodeId from, const std::string& from_name, NodeId to,
                      const std::string& to_name, unsigned flags, const Caller& caller);
  /// Nothing is pending where nothing can be changed.
  virtual void sync_directory(NodeId /*directory*/) {}
  /// Before contents or attributes of a node are changed.
  virtual void before_changing(NodeId /*node*/, const Caller& /*caller*/) {}
  /// Clears the set-user-ID and set-group-ID bits that a change of the contents takes.
  virtual void drop_privileges(NodeId node, const Caller& caller);
  /// As chown(2), chmod(2) and utimensat(2), which clears such bits where the owner or the group is
  /// set, also to what it is.
  virtual void set_attributes(NodeId node, NewAttributes wanted, const Caller& caller);
  /// As truncate(2).
  virtual void resize(NodeId node, std::int64_t size);
  virtual void set_attribute(NodeId node, const std::string& name, const std::string& value,
                             int flags, const Caller& caller);
  virtual void remove_attribute(NodeId node, const std::string& name, const Caller& caller);
  /// Has `forget_pages` called as ContentHome::forget_pages() says.
  using ForgetPages = std::function<void(NodeId node, std::function<void()> done)>;
  virtual void set_forget_pages(const ForgetPages& /*forget_pages*/) {}
  /// The same for ContentHome::forget_attributes().
  using ForgetAttributes = std::function<void(NodeId node)>;
  virtual void set_forget_attributes(const ForgetAttributes& forget_attributes) = 0;

  // --- the mount as a whole

  /// Commits everything that was written. EROFS for a mount that was read-only from the start.
  virtual void commit_written();
  /// The same, before the mount ends. What cannot be committed is kept for `b2frame recover` where
  /// that is possible; the exception names each file and what has become of it.
  virtual void commit_all() {}
  /// Before the answer to a write whose handle has a dirty_user().
  virtual DirtyBudget& dirty_budget() = 0;
  /// Goes on with another dirty_limit and sync=, and a cache_size that is not less than before.
  virtual void change_options(const MountOptions& options) = 0;
  /// What still waits for a commit.
  struct Uncommitted {
    std::string path;         ///< below SOURCE
    std::int64_t bytes = 0;   ///< of contents
    std::error_code failure;  ///< of the last try, if one has failed
  };
  virtual std::vector<Uncommitted> uncommitted() { return {}; }
  /// Time since the last file handle was released; zero while one is open.
  virtual frame::Clock::Duration idle_time() const = 0;
  /// Grows with everything that is read or committed.
  virtual std::uint64_t requests() const = 0;
  /// Gives most of the memory back that may serve nobody any more.
  virtual void rest() = 0;
  /// Called every second: what nobody asks for any more is let go of.
  virtual void tidy() {}
};

}  // namespace bloscfs::fs
