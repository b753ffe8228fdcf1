#pragma once
// A mount without a kernel that is asked by paths: of files in a SOURCE that it has locked, or of
// objects.

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
#include "fs/source/local/local_source.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

using Names = std::vector<std::string>;

/// What the kernel counts as one reference to a node, while it lives.
using Reference = std::shared_ptr<const fs::NodeId>;

/// The errno of a std::system_error that `work` throws, EIO for what no errno stands for, and 0 if
/// it throws nothing.
int error_of(const std::function<void()>& work);

/// A path is made of shown names, from the root; the root is the empty path. Functions throw what
/// fs::Mount throws, and ENOENT as std::system_error. As the kernel does, they look up a name
/// before they change it, and forget nodes that are not used. Each mount collects the log; while
/// there are several, the last one gets all lines.
class InProcess {
 public:
  /// `options` as after -o. `clock` outlives the mount.
  explicit InProcess(const fs_std::path& source, const std::string& options = {},
                     const frame::Clock& clock = frame::system_clock());
  explicit InProcess(const std::shared_ptr<frame::ObjectTree>& tree,
                     const std::string& options = {},
                     const frame::Clock& clock = frame::system_clock());
  /// Ends suddenly, unless it has ended.
  ~InProcess();
  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;

  fs::Mount* operator->() { return mount_.get(); }
  /// A new request of the caller, until this thread asks for its next one.
  fs::Request& request() const;
  fs::Source& source() { return mount_->source(); }
  /// Of files.
  fs::LocalSource& local() { return dynamic_cast<fs::LocalSource&>(source()); }
  std::string log() const;
  /// How often somebody asked that the kernel should forget pages.
  int forgotten() const { return forgotten_; }
  /// As an unmount. Nothing is asked any more. Throws as Mount::commit_all().
  void end();

  /// An open file. Released by the destructor, as by the last close.
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
    /// At the end where there is no offset.
    void write(std::optional<std::int64_t> offset, const ByteVector& bytes) const;
    void truncate(std::int64_t size) const;
    void allocate(int mode, std::int64_t offset, std::int64_t size) const;
    void sync() const;
    /// What close(2) of a copy of the descriptor does.
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
  /// Shown names of a directory, sorted, as a listing tells them.
  Names names(std::string_view path = {});

  File open(std::string_view path, int flags = O_RDWR);
  File create(std::string_view path, int flags = O_RDWR);
  ByteVector read(std::string_view path);
  /// Creates or replaces it, as a program does that writes all and closes.
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

  /// Who asks for all that.
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

/// Names in a directory of SOURCE, sorted; temporaries count as ".tmp", the lock file not at all.
Names stored_names(const fs_std::path& directory);
/// What a container of SOURCE holds, as a mount that has just begun would show it.
ByteVector shown_contents(const fs_std::path& stored);
/// A copy with other bytes in it, longer if they do not fit.
ByteVector with_bytes(ByteVector contents, std::size_t offset, const ByteVector& bytes);

}  // namespace bloscfs::test
