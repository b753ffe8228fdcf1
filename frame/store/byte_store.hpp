#pragma once
// The interfaces for writing containers, the counterpart of ByteSource. This library makes every
// change on disk through them, so that tests can record, fail or lose each operation.

#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline store {

/// The attributes that a new file takes over from the file that it replaces.
struct FileAttributes {
  struct Extended {
    std::string name;
    std::vector<std::uint8_t> value;
    bool operator==(const Extended&) const = default;
  };
  uid_t owner = 0;
  gid_t group = 0;
  mode_t mode = 0;  ///< permission bits
  timespec accessed{};
  timespec modified{};
  std::vector<Extended> extended;

  bool equals_except_times(const FileAttributes& other) const {
    return owner == other.owner && group == other.group && mode == other.mode &&
           extended == other.extended;
  }
};

struct FileTimes {
  timespec accessed, modified;  ///< as utimensat(2) takes them
};

/// A target for written bytes. Errors are std::system_error with the errno.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Writes all of `bytes`, or throws. After an error the contents of the range are unspecified.
  virtual void write_at(std::uint64_t offset, Bytes bytes) = 0;
};

/// A regular file open for reading and writing. Reads may run at the same time as one writer.
/// Errors are std::system_error with the errno.
class StoreFile : public ByteSource, public ByteSink {
 public:
  virtual void truncate(std::uint64_t size) = 0;
  /// Releases the range's disk space. The range then reads as zeros, or as before if the filesystem
  /// cannot punch holes.
  virtual void punch(std::uint64_t offset, std::uint64_t size) = 0;
  /// Makes contents and size durable. After a failure, everything written since the last success
  /// may be lost, even if a later call succeeds.
  virtual void sync() = 0;
  /// Starts writing changed pages to disk, so that a later sync() waits less. Guarantees nothing.
  virtual void begin_sync() {}
  virtual std::uint64_t link_count() const = 0;
  virtual FileAttributes attributes() const = 0;
  /// Sets the attributes as far as the system permits:
  ///
  /// - owner and group where that is permitted, extended attributes where they are supported;
  /// - set-user-ID and set-group-ID only if owner and group are then as wanted;
  /// - if the group could not be set, the actual group gets the permissions of others. If there is
  ///   an access control list, the list is removed, and neither group nor others get any
  ///   permission.
  virtual void set_attributes(const FileAttributes& attributes) = 0;
  virtual void set_times(const timespec& accessed, const timespec& modified) = 0;
  /// Locks the file against other callers of lock(), in any process, until the result is destroyed.
  /// Waits up to 30 s, then throws LockedByOthers. Returns null if the file cannot be locked, for
  /// example because another program has a read lock on it.
  virtual std::shared_ptr<void> lock() { return nullptr; }
  /// True if no other open file description, in any process, refers to the file. False if that
  /// cannot be determined.
  virtual bool is_sole_user() const = 0;
  /// Returns how long ago the file or its attributes were last changed. Zero if unknown.
  virtual std::chrono::nanoseconds time_since_change(
      std::chrono::system_clock::time_point /*now*/) const {
    return {};
  }
};

enum class RenameMode {
  replace,
  no_replace,  ///< EEXIST if the new name is taken
  exchange,    ///< both names must exist; EINVAL if the filesystem cannot exchange
};

/// An open directory. Names are single components. Symlinks are not followed. Errors are
/// std::system_error with the errno.
class StoreDirectory {
 public:
  virtual ~StoreDirectory() = default;
  /// Opens a regular file for reading and writing.
  virtual std::shared_ptr<StoreFile> open(const std::string& name) = 0;
  /// Opens a regular file for reading. Returns null if no regular file has that name.
  virtual std::shared_ptr<const ByteSource> open_source(const std::string& name) const = 0;
  /// Makes a new file. Fails with EEXIST if the name is taken.
  virtual std::shared_ptr<StoreFile> create(const std::string& name, mode_t mode) = 0;
  virtual void rename(const std::string& from, const std::string& to, RenameMode mode) = 0;
  virtual void unlink(const std::string& name) = 0;
  virtual void make_directory(const std::string& name, mode_t mode) = 0;
  virtual std::shared_ptr<StoreDirectory> open_directory(const std::string& name) = 0;
  /// Returns the stamp of the file or directory of that name, or nothing if the name does not
  /// exist.
  virtual std::optional<FileStamp> stamp(const std::string& name) const = 0;
  virtual std::vector<std::string> names() const = 0;

  // For directories where opening and reading a file costs network round trips. In other
  // directories these functions do nothing.

  virtual bool is_over_network() const { return false; }
  /// Returns how many bytes to request ahead of a reader that reads the files in order.
  virtual std::int64_t max_bytes_in_flight() const { return 0; }
  /// Like ByteSource::expect() and is_available(), for a file that need not be open yet.
  virtual void expect(const std::string& /*name*/, std::span<const ByteRange> /*ranges*/) const {}
  virtual bool is_available(const std::string& /*name*/,
                            std::span<const ByteRange> /*ranges*/) const {
    return true;
  }

  /// Makes creations, renames and removals durable.
  virtual void sync() = 0;
  /// Like sync(), after a file or directory got this name. Most FUSE servers are not notified of an
  /// fsync(2) of a directory. On FUSE this function therefore also flushes the file of that name,
  /// or a new file inside it if it is a directory. The filesystem below FUSE then writes its names,
  /// too.
  virtual void sync_name(const std::string& /*name*/) { sync(); }
  /// Makes files of this directory durable, as their own sync() does.
  virtual void sync_files(std::span<const std::shared_ptr<StoreFile>> files) {
    for (const auto& file : files) file->sync();
  }
  /// The descriptor by which lock sidecars next to the frames are opened, or -1 if there is none.
  virtual int descriptor() const = 0;
  /// True if files are never changed in place, and no name is ever used again for another file,
  /// except that of a sparse frame's index.
  virtual bool is_lasting() const { return false; }
};

}  // namespace bloscfs::frame::inline store
