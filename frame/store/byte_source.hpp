#pragma once
// Positional reads from a container's storage: a local file, or an object behind a network.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline store {

using codec::ByteRange;
using codec::Bytes;
using codec::MutableBytes;

/// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};
/// A file descriptor with several owners.
using SharedFd = std::shared_ptr<const UniqueFd>;

/// Distinguishes one state of a file from another.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  /// Modification time since 1970: seconds, which may be any number, and nanoseconds.
  std::int64_t mtime_s = 0, mtime_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const struct stat& st);

/// Calls fstat(2). Throws std::system_error.
struct stat status_of(int fd);

/// Identifies a file or directory.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};
inline FileId id_of(const FileStamp& stamp) { return {stamp.device, stamp.inode}; }

/// The users who may read a file according to its mode.
struct FileReaders {
  uid_t owner = 0;
  bool has_others = false;  ///< users other than the owner
};

/// Counts the reads of all sources of a mount.
struct SourceCounters {
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> bytes{0};
};

/// Thread-safe. Errors are std::system_error with the errno.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `out` from `offset` on; returns less than out.size() only at the end of the source.
  virtual std::size_t read_at(std::uint64_t offset, MutableBytes out) const = 0;
  virtual FileStamp stamp() const = 0;
  /// True if a read costs a network round trip, so that expect() is worth some work.
  virtual bool is_over_network() const { return false; }
  /// Announces ranges that will be read soon. A far source requests them at once, as far as its
  /// memory budget has room. Never waits. Ignores ranges outside the source.
  virtual void expect(std::span<const ByteRange> ranges) const { static_cast<void>(ranges); }
  /// False if reading these ranges would wait for a far source.
  virtual bool is_available(std::span<const ByteRange> ranges) const {
    static_cast<void>(ranges);
    return true;
  }
  /// Returns the bytes of the source that stay in memory during its lifetime.
  virtual std::size_t memory() const { return 0; }
  /// Returns the users who may read the file, or nothing if the source is not a local file.
  virtual std::optional<FileReaders> readers() const { return std::nullopt; }

  /// Throws codec::Error (malformed) if the source ends before `out` is full.
  void read_exactly_at(std::uint64_t offset, MutableBytes out, const char* what) const;
};

class FileSource final : public ByteSource {
 public:
  /// `counters` may be null and must outlive this object.
  FileSource(UniqueFd fd, SourceCounters* counters)
      : FileSource(std::make_shared<const UniqueFd>(std::move(fd)), counters) {}
  FileSource(SharedFd fd, SourceCounters* counters) : fd_(std::move(fd)), counters_(counters) {}
  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  FileStamp stamp() const override;
  std::optional<FileReaders> readers() const override;
  int fd() const { return fd_->get(); }

 private:
  SharedFd fd_;
  SourceCounters* counters_;
};

}  // namespace bloscfs::frame::inline store
