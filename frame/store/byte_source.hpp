#pragma once
// Positional reads from where a container is stored: a local file today.

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
/// A descriptor that several use.
using SharedFd = std::shared_ptr<const UniqueFd>;

/// What tells one state of a file from another.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  /// Since 1970, where files may have any number, and what is more than that second.
  std::int64_t mtime_s = 0, mtime_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const struct stat& st);

/// fstat. Throws std::system_error.
struct stat status_of(int fd);

/// Which file or directory something is.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};
inline FileId id_of(const FileStamp& stamp) { return {stamp.device, stamp.inode}; }

/// Who may read a file, as far as its mode says.
struct FileReaders {
  uid_t owner = 0;
  bool has_others = false;  ///< beside the owner
};

/// Counts reads of all sources of a mount.
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
  /// True where a read costs a round trip, so that expect() is worth some work.
  virtual bool is_far() const { return false; }
  /// These will be read soon: a source that is far away asks for them at once, as far as it has
  /// room, and waits for nothing. What is not inside the source counts as not said.
  virtual void expect(std::span<const ByteRange> ranges) const { static_cast<void>(ranges); }
  /// False where reading these would wait for a source that is far away.
  virtual bool is_at_hand(std::span<const ByteRange> ranges) const {
    static_cast<void>(ranges);
    return true;
  }
  /// Nothing where it is no file.
  virtual std::optional<FileReaders> readers() const { return std::nullopt; }

  /// Throws codec::Error (malformed) when the source ends before `out` is full.
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
