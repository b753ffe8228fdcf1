#pragma once
// The mounted filesystem without the kernel: what the FUSE operations call.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "fs/content/readahead.hpp"
#include "fs/mount/attribute_cache.hpp"
#include "fs/mount/descriptor_shares.hpp"
#include "fs/mount/directory_listings.hpp"
#include "fs/mount/file_contents.hpp"
#include "fs/names/leftover_sweep.hpp"
#include "fs/names/namespace.hpp"
#include "fs/names/surroundings.hpp"
#include "fs/options/options.hpp"
#include "fs/source/caller.hpp"
#include "fs/source/plain_file.hpp"
#include "fs/source/source_root.hpp"
#include "fs/support/handle_table.hpp"
#include "fs/support/keyed_mutex.hpp"
#include "fs/support/worker_pool.hpp"
#include "fs/tree/classifier.hpp"
#include "fs/tree/tree.hpp"

namespace bloscfs::fs {

/// What SOURCE is and how to reach it.
struct MountSource {
  frame::UniqueFd root;               ///< the mirrored directory, or the one that holds the frame
  std::optional<std::string> single;  ///< full name of the only entry shown
  Surroundings surroundings;
  dev_t own_device = 0;  ///< of the mount that shows it, once there is one
};

/// Follows symlinks in `path`. Throws std::system_error, or codec::Error when it is a container
/// that cannot be trusted; std::invalid_argument when it is a file that is no container.
MountSource open_source(const std::string& path, bool raw);

/// Thread-safe. Errors: std::system_error, codec::Error.
class Filesystem {
 public:
  /// `lock` is that of a writable mount, and null for others. `pages` outlives it.
  Filesystem(MountSource source, const MountOptions& options, std::size_t workers, MountLock* lock,
             PagePool& pages);

  Tree& tree() { return tree_; }
  const SourceRoot& root() const { return root_; }
  Stats& stats() { return stats_; }
  BlockCache& cache() { return cache_; }
  Namespace& names() { return names_; }

  struct FileHandle {
    NodeId node = 0;
    std::shared_ptr<const OpenFile> file;
    std::atomic<std::uint64_t> epoch{0};     ///< of the content: the last one that it knows of
    bool direct = false;                     ///< opened with O_DIRECT: short replies are allowed
    bool writes = false;                     ///< a container opened for writing
    std::unique_ptr<const PlainFile> plain;  ///< a plain file opened for writing
    FairShare::Part descriptors;             ///< that it may keep open
    Readahead readahead;
  };
  struct DirectoryHandle {
    NodeId node = 0;
    Mutex mutex;
    bool was_read GUARDED_BY(mutex) = false;
    std::shared_ptr<const DirectoryListing> listing GUARDED_BY(mutex);
  };

  struct Opened {
    std::uint64_t handle = 0;
    bool changed = false;  ///< the kernel's pages and attributes of the file are out of date
  };
  /// `descriptors`: what take_descriptors() has given for it.
  Opened open(NodeId node, int flags, FairShare::Part descriptors = {});
  /// For a new file, before it is made. Errors as DescriptorShares::take's.
  FairShare::Part take_descriptors() { return descriptors_.take(DescriptorShares::kOfWriter); }
  /// A new file that nobody opens has them until its commit.
  void give_descriptors(NodeId node, FairShare::Part descriptors);
  std::shared_ptr<FileHandle> handle(std::uint64_t number) const;
  void release(std::uint64_t number);
  /// Attributes of what a handle has open, also when another state has taken its name.
  struct stat handle_attributes(std::uint64_t number);
  /// For the `begun` of what lists directories: a directory is shown as it is then, or later.
  std::uint64_t listings_begun() const { return listings_.begun(); }
  /// NoTurn where the directory is large, or its files have to be read.
  std::uint64_t open_directory(NodeId node, std::uint64_t begun);
  /// What the directory holds since it was last read from its start. NoTurn as open_directory().
  std::shared_ptr<const DirectoryListing> directory_entries(std::uint64_t number, bool from_start,
                                                            std::uint64_t begun);
  /// NoTurn where it was large.
  void release_directory(std::uint64_t number);

  /// Tells of a read that `user` has asked for, before read() is called, perhaps more than once:
  /// has what is behind it decoded ahead.
  void expect_more(FileHandle& handle, std::int64_t offset, std::int64_t size, uid_t user);
  /// Reads from a container's view.
  void read(FileHandle& handle, std::int64_t offset, std::int64_t size, ReplyData& out);
  /// True if the kernel's page cache serves all who may want what is read now.
  bool is_kept_by_kernel() const { return direct_handles_ == 0; }

  /// True if somebody has the file open for writing, so that the kernel may know more of it.
  bool has_writers(const FileHandle& handle) const;

  // --- writing: containers, and plain files where nothing else is said

  /// Clears the set-user-ID and set-group-ID bits that a change of the contents takes.
  void drop_privileges(NodeId node, const Caller& caller);
  /// As chown(2), chmod(2) and utimensat(2), which clears such bits where the owner or the group is
  /// set, also to what it is.
  void set_attributes(NodeId node, NewAttributes wanted, const Caller& caller);

  /// Who writes to a container: a program, or the kernel, which writes pages back.
  enum class WriteOf { bytes, pages };
  /// To containers.
  void write(FileHandle& handle, WriteOf what, std::optional<std::int64_t> at, codec::Bytes bytes);
  void write(FileHandle& handle, WriteOf what, std::optional<std::int64_t> at,
             std::span<PooledBuffer> cells);
  void truncate(FileHandle& handle, std::int64_t size);
  /// The same without a handle.
  void resize(NodeId node, std::int64_t size);
  /// As fallocate(2), for the modes that punch, zero and set sizes. Contents take no space before
  /// they are written, but none is promised where SOURCE has not as much: ENOSPC.
  void allocate(FileHandle& handle, int mode, std::int64_t offset, std::int64_t size);
  /// False where sync() returns at once.
  bool has_to_store(const FileHandle& handle) const;
  /// What was written is durable when it returns.
  void sync(FileHandle& handle);
  /// At each close of a descriptor: reports errors of commits in the background.
  void flush(FileHandle& handle);
  /// Commits everything that was written. EROFS for a mount that was read-only from the start.
  void commit_written();
  /// The same, before the mount ends. What cannot be committed is kept for `b2frame recover` where
  /// that is possible; the exception names each file and what has become of it.
  void commit_all();

  // NoTurn where these have to decode, or to change a container's own attributes.

  std::vector<std::string> list_attributes(NodeId node);
  /// Throws ENODATA where there is none, EOPNOTSUPP for other name spaces.
  std::string read_attribute(NodeId node, const std::string& name);
  /// `flags` as in setxattr(2). EPERM for what is computed or says what a frame is, unless that is
  /// the value that it has; EINVAL for other names below user.blosc2. and for what is no JSON.
  void set_attribute(NodeId node, const std::string& name, const std::string& value, int flags,
                     const Caller& caller);
  void remove_attribute(NodeId node, const std::string& name, const Caller& caller);

  /// The user who owns the node's object in SOURCE, whatever is shown.
  uid_t owner(NodeId node);

  /// Time since the last file handle was released; zero while one is open.
  std::chrono::steady_clock::duration idle_time() const;
  /// Grows with everything that is read or committed.
  std::uint64_t requests() const {
    return stats_.cache_hits + stats_.cache_misses + stats_.commits;
  }
  /// Gives most of the memory back that may serve nobody any more.
  void rest();

 private:
  std::shared_ptr<const DirectoryListing> list(NodeId directory, std::uint64_t begun);
  void open_into(FileHandle& handle, const SourceEntry& entry, int flags);
  void end_writing(FileHandle& handle);
  std::shared_ptr<const OpenFile> make_open_file(NodeId node, const SourceEntry& entry);
  /// The container's snapshot: that of an open handle, or opened for this call.
  std::shared_ptr<const OpenFile> container(NodeId node);
  Content& changing(FileHandle& handle);
  void tell_loss(FileHandle& handle);
  template <typename Write>
  void write_knowing(FileHandle& handle, WriteOf what, const Write& write);
  void read_content(FileHandle& handle, std::int64_t offset, std::int64_t size, ReplyData& out);
  /// Where values must stay what they are the log says why, once.
  void require_changeable(NodeId node, const Content& content);
  void require_space(std::int64_t size) const;
  void open_plain(FileHandle& handle, int flags);
  void close_plain(NodeId node);
  std::shared_ptr<const FrameAttributes> look_at_frame(NodeId node, const SourceEntry& entry);
  std::optional<std::vector<std::uint8_t>> read_metalayer(NodeId node, const SourceEntry& entry,
                                                          const LayerName& name);
  std::optional<std::string> read_computed(NodeId node, const SourceEntry& entry,
                                           const std::string& name);
  std::optional<std::string> frame_attribute(NodeId node, const SourceEntry& entry,
                                             const std::string& name);
  void set_fixed_attribute(NodeId node, const SourceEntry& entry, const std::string& name,
                           const std::string& value, int flags);
  SourceEntry check_attribute(NodeId node, const std::string& name);
  void log_bad_data(NodeId node, const std::exception& error);
  void log_once(const std::string& message);

  const Surroundings surroundings_;
  SourceRoot root_;
  Stats stats_;
  const ReaderSettings reader_settings_;
  BlockCache cache_;
  AttributeCache attributes_;
  Classifier classifier_;
  Tree tree_;
  Namespace names_;  ///< before whatever holds a content
  DirectoryListings listings_;
  DescriptorShares descriptors_;  ///< before whatever has a part
  const WriteOptions write_options_;
  const bool writable_;
  std::atomic<std::uint64_t> next_content_id_{1};
  DirtyBudget budget_;  ///< before whatever holds a content, as what stands above
  HandleTable<FileHandle> handles_;
  HandleTable<DirectoryHandle> directories_;
  ReadaheadBudget readahead_budget_;
  Mutex log_mutex_;
  std::unordered_set<std::size_t> logged_ GUARDED_BY(log_mutex_);  ///< hashes of messages
  std::atomic<std::chrono::steady_clock::rep> last_release_;
  std::atomic<int> direct_handles_{0};  ///< open with O_DIRECT
  WorkerPool pool_;                     ///< its tasks use everything above
  Committer committer_;
  FileContents contents_;
  KeyedMutex plain_files_;  ///< nobody opens one for writing while it becomes a frame
  std::optional<LeftoverSweep> sweep_;
};

}  // namespace bloscfs::fs
