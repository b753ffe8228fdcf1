#pragma once
// Where containers are written: the counterpart of ByteSource. Whatever this library changes on
// disk it changes through these interfaces, so that tests can record, fail or lose every operation.

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

/// What a file's replacement takes over from it.
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

  bool same_but_times(const FileAttributes& other) const {
    return owner == other.owner && group == other.group && mode == other.mode &&
           extended == other.extended;
  }
};

struct FileTimes {
  timespec accessed, modified;  ///< as utimensat(2) takes them
};

/// What bytes are written to. Errors are std::system_error with the errno.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Writes all of `bytes`, or throws; what stands in that range is then unspecified.
  virtual void write_at(std::uint64_t offset, Bytes bytes) = 0;
};

/// A regular file open for reading and writing. Reads may run beside one writer.
/// Errors are std::system_error with the errno.
class StoreFile : public ByteSource, public ByteSink {
 public:
  virtual void truncate(std::uint64_t size) = 0;
  /// Gives the range's space back; it then reads as zeros, or as before where that is not possible.
  virtual void punch(std::uint64_t offset, std::uint64_t size) = 0;
  /// Makes contents and size durable. After a failure what was written since the last success may
  /// be lost, whatever a later call says.
  virtual void sync() = 0;
  /// Has the disk begin to write what sync() would wait for; promises nothing.
  virtual void begin_sync() {}
  virtual std::uint64_t link_count() const = 0;
  virtual FileAttributes attributes() const = 0;
  /// Owner and group are set where that is permitted, extended attributes where they are supported,
  /// and set-user-ID and set-group-ID bits where both are as wanted then. Where the group is not,
  /// its members get what others have, or nothing where there is an access list, which goes.
  virtual void set_attributes(const FileAttributes& attributes) = 0;
  virtual void set_times(const timespec& accessed, const timespec& modified) = 0;
  /// Excludes the others that call this of the same file, in any process, as long as the result
  /// lives; waits for them, up to 30 s: then LockedByOthers. Null where that is not possible, as
  /// where somebody has locked it for reading.
  virtual std::shared_ptr<void> lock() { return nullptr; }
  /// True if no other open file description, in any process, refers to the file. False when that
  /// cannot be told.
  virtual bool is_sole_user() const = 0;
  /// How long nobody has written to the file; zero where that is not known.
  virtual std::chrono::nanoseconds untouched_for(
      std::chrono::system_clock::time_point /*now*/) const {
    return {};
  }
};

enum class RenameMode {
  replace,
  no_replace,  ///< EEXIST where the new name is taken
  exchange,    ///< both must be there; EINVAL where the filesystem cannot do that
};

/// An open directory. Names are single components, and symlinks are not followed.
/// Errors are std::system_error with the errno.
class StoreDirectory {
 public:
  virtual ~StoreDirectory() = default;
  /// Opens a regular file for reading and writing.
  virtual std::shared_ptr<StoreFile> open(const std::string& name) = 0;
  /// Opens a regular file for reading; null if there is none of that name.
  virtual std::shared_ptr<const ByteSource> open_source(const std::string& name) const = 0;
  /// Makes a new file. Fails with EEXIST if the name is taken.
  virtual std::shared_ptr<StoreFile> create(const std::string& name, mode_t mode) = 0;
  virtual void rename(const std::string& from, const std::string& to, RenameMode mode) = 0;
  virtual void unlink(const std::string& name) = 0;
  virtual void make_directory(const std::string& name, mode_t mode) = 0;
  virtual std::shared_ptr<StoreDirectory> open_directory(const std::string& name) = 0;
  /// Stamp of what has that name; nothing if there is none.
  virtual std::optional<FileStamp> stamp(const std::string& name) const = 0;
  virtual std::vector<std::string> names() const = 0;

  // Where opening and reading a file costs round trips; otherwise nothing happens.

  virtual bool is_far() const { return false; }
  /// Bytes that are worth being under way for one who reads its files one after the other.
  virtual std::int64_t most_under_way() const { return 0; }
  /// As of ByteSource, of a file that may not be open yet.
  virtual void expect(const std::string& /*name*/, std::span<const ByteRange> /*ranges*/) const {}
  virtual bool is_at_hand(const std::string& /*name*/,
                          std::span<const ByteRange> /*ranges*/) const {
    return true;
  }

  /// Makes creations, renames and removals durable.
  virtual void sync() = 0;
  /// Makes creations, renames and removals durable after something got this name. Most programs
  /// that serve a filesystem by FUSE are not told of fsync(2) of a directory. There the file of
  /// that name is flushed again, or a new file if it is a directory: the filesystem below then
  /// writes its names, too.
  virtual void sync_name(const std::string& /*name*/) { sync(); }
  /// Makes some of its files durable, as their own sync() does.
  virtual void sync_files(std::span<const std::shared_ptr<StoreFile>> files) {
    for (const auto& file : files) file->sync();
  }
  /// For opening lock sidecars beside the frames; -1 if there is no such thing.
  virtual int descriptor() const = 0;
  /// True where no file is changed in place, and no name is used for another one but the index's.
  virtual bool is_lasting() const { return false; }
};

}  // namespace bloscfs::frame::inline store
