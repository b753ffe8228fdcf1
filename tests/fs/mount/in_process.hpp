#pragma once
// A mount without a kernel, which tests use by paths. SOURCE is a directory, which the mount has
// locked, or an object tree.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "fs/mount/make_mount.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/local/files/rescue_folder.hpp"
#include "fs/source/local/local_source.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

using Names = std::vector<std::string>;

/// One of the kernel's references to a node. The destructor gives it back.
using Reference = std::shared_ptr<const fs::NodeId>;

/// Returns the errno of a std::system_error that `work` throws, EIO for an error without an errno,
/// and 0 if it throws nothing.
int error_of(const std::function<void()>& work);

/// Paths consist of shown names from the root; the empty path is the root. Functions throw what
/// fs::Mount throws, and std::system_error(ENOENT). Like the kernel, they look up a name before
/// they change it, and forget nodes that are not used.
/// Each mount collects the log. If there are several mounts, the last one gets all lines.
class InProcess {
 public:
  /// `options` are as after -o. `clock` outlives the mount.
  explicit InProcess(const fs_std::path& source, const std::string& options = {},
                     const frame::Clock& clock = frame::system_clock());
  explicit InProcess(const std::shared_ptr<frame::ObjectTree>& tree,
                     const std::string& options = {},
                     const frame::Clock& clock = frame::system_clock());
  /// Ends the mount suddenly, without commits, unless end() was called.
  ~InProcess();
  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;

  fs::Mount* operator->() { return mount_.get(); }
  /// Returns a new request of `caller`. It lives until this thread calls request() again.
  fs::Request& request() const;
  fs::Source& source() { return mount_->source(); }
  /// Only for mounts of files.
  fs::LocalSource& local() { return dynamic_cast<fs::LocalSource&>(source()); }
  std::string log() const;
  /// Returns how often the daemon asked the kernel to forget pages.
  int forgotten() const { return forgotten_; }
  /// Ends the mount like an unmount. No function may be called afterwards. Throws like
  /// Mount::commit_all().
  void end();

  /// An open file. The destructor releases it, as the last close does.
  class File {
   public:
    File(InProcess& mount, Reference node, std::uint64_t number)
        : mount_(&mount), node_(std::move(node)), number_(number) {}
    ~File();
    File(File&& other) noexcept;
    File& operator=(File&&) = delete;

    fs::FileHandle& handle() const { return *mount_->mount_->handle(number_); }
    ByteVector read(std::int64_t offset, std::int64_t size) const;
    ByteVector contents() const;
    /// Without an offset, writes at the end.
    void write(std::optional<std::int64_t> offset, const ByteVector& bytes) const;
    void truncate(std::int64_t size) const;
    void allocate(int mode, std::int64_t offset, std::int64_t size) const;
    void sync() const;
    /// Does what close(2) of a copy of the descriptor does.
    void flush() const;
    struct stat stat() const;
    fs::NodeId node() const { return *node_; }
    InProcess& mount() const { return *mount_; }

   private:
    InProcess* mount_;
    Reference node_;
    std::uint64_t number_;
  };

  Reference find(std::string_view path);
  bool has(std::string_view path);
  struct stat stat(std::string_view path);
  /// Returns the shown names in a listing of the directory, sorted.
  Names names(std::string_view path = {});

  File open(std::string_view path, int flags = O_RDWR);
  File create(std::string_view path, int flags = O_RDWR);
  ByteVector read(std::string_view path);
  /// Creates or replaces the file, like a program that writes all of it and closes it.
  void write(std::string_view path, const ByteVector& bytes);
  void resize(std::string_view path, std::int64_t size);

  void make_directory(std::string_view path);
  void make_link(std::string_view from, std::string_view path);
  void make_symlink(const std::string& target, std::string_view path);
  std::string read_link(std::string_view path);
  void remove(std::string_view path);
  void remove_directory(std::string_view path);
  void rename(std::string_view from, std::string_view to, unsigned flags = 0);

  Names attributes(std::string_view path);
  std::string attribute(std::string_view path, const std::string& name);
  void set_attribute(std::string_view path, const std::string& name, const std::string& value,
                     int flags = 0);
  void remove_attribute(std::string_view path, const std::string& name);
  void set(std::string_view path, const fs::NewAttributes& wanted);

  /// The user of all requests.
  fs::Caller caller;

 private:
  void count_forgotten();
  struct Place {
    Reference directory;
    std::string name;
  };
  Place place(std::string_view path);
  Reference keep(const fs::FoundNode& found);

  const TempDir home_;
  std::optional<fs::MountLock> lock_;
  fs::PagePool pages_;
  std::unique_ptr<fs::Mount> mount_;
  std::atomic<int> forgotten_{0};
};

/// Returns the names in a directory of SOURCE, sorted. Temporaries are returned as ".tmp". The lock
/// file is left out.
Names stored_names(const fs_std::path& directory);
/// Returns the contents of a container of SOURCE, as a new mount shows them.
ByteVector shown_contents(const fs_std::path& stored);
/// Returns a copy with `bytes` written at `offset`. The copy is longer if they do not fit.
ByteVector with_bytes(ByteVector contents, std::size_t offset, const ByteVector& bytes);

}  // namespace bloscfs::test
