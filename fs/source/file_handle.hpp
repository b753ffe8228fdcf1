#pragma once
// An open file of any kind, as the kernel uses it.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "codec/bytes.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/node.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/pooled_buffer.hpp"
#include "fs/support/request.hpp"
#include "fs/view/reply_data.hpp"

namespace bloscfs::fs {

/// Bytes that the daemon splices from a descriptor into its reply. The handle keeps the descriptor
/// open.
struct DescriptorRange {
  int descriptor = -1;
  std::int64_t offset = 0;
  std::size_t size = 0;  ///< fewer bytes if the file ends earlier
};
using ReadBytes = std::variant<ReplyData, DescriptorRange>;

/// Where a write goes.
struct WritePlace {
  std::int64_t offset = 0;  ///< as the kernel gave it
  bool appends = false;     ///< ignores the offset: the bytes go to the file's end
  bool are_pages = false;   ///< the kernel writes back pages of its cache or of a mapping
};

struct CopiedRange {
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  std::size_t size = 0;
  unsigned flags = 0;  ///< of copy_file_range(2)
};

/// How many of the daemon's descriptors one open file may use.
struct DescriptorNeed {
  static constexpr std::size_t kReader = 1;  ///< a frame, or a plain file
  static constexpr std::size_t kWriter = 3;  ///< a frame and its writer's file and directory
  /// In addition, for the directory of a sparse frame, whether read or written.
  static constexpr std::size_t kSparseMore = 2;
};

/// An open file. Thread-safe except for keep() and close(). Throws std::system_error with the
/// errno, and codec::Error.
class FileHandle {
 public:
  /// `flags` as in open(2).
  FileHandle(NodeId node, int flags) : node_(node), is_direct_((flags & O_DIRECT) != 0) {}
  virtual ~FileHandle() = default;
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;

  NodeId node() const { return node_; }
  /// Opened with O_DIRECT: short replies are allowed.
  bool is_direct() const { return is_direct_; }
  /// Keeps the handle's share of descriptors until the handle is closed. If it wrote, keeps the
  /// share until a commit has stored the written bytes.
  void keep(FairShare::Part descriptors) { descriptors_ = std::move(descriptors); }

  /// Returns the attributes of the open file, even if another file has its name by now.
  virtual struct stat attributes(Request& request) const = 0;
  /// True if the program that opened the file probably maps it and reads only parts of it.
  virtual bool may_be_mapped() const { return false; }
  /// Announces a read by `user`, before read(). Called once for each read, while read() may be
  /// called twice. May start to decode the bytes that the program will probably read next.
  virtual void expect_more(std::int64_t /*offset*/, std::int64_t /*size*/, uid_t /*user*/) {}
  /// Returns the file's bytes [offset, offset + size), cut at its end. Throws NoSlot if they
  /// must be decoded.
  virtual ReadBytes read(Request& request, std::int64_t offset, std::int64_t size) = 0;
  /// As lseek(2) with SEEK_DATA and SEEK_HOLE. Throws ENXIO behind the end.
  virtual std::int64_t seek(Request& request, std::int64_t offset, int whence) const = 0;
  /// True if the file has an open writer, so that the kernel's cache may be newer than the daemon's
  /// state.
  virtual bool has_writers() const = 0;

  // The next functions throw EBADF if the file was not opened for writing.

  /// Returns how many bytes were written: fewer than given if SOURCE has no room for all.
  virtual std::size_t write(Request& /*request*/, const WritePlace& /*place*/,
                            codec::Bytes /*bytes*/) {
    refuse();
  }
  /// Like write() of the concatenated cells. May take the cells' memory, and then leaves empty
  /// ones.
  virtual std::size_t write(Request& /*request*/, const WritePlace& /*place*/,
                            std::span<PooledBuffer> /*cells*/) {
    refuse();
  }
  /// Returns the user to whom written bytes are counted until a commit has stored them; nullopt if
  /// a write stores them at once.
  virtual std::optional<uid_t> dirty_user() const { return std::nullopt; }
  virtual void truncate(Request& /*request*/, std::int64_t /*size*/) { refuse(); }
  /// As fallocate(2). A container supports only the modes that punch, zero and set sizes. It
  /// reserves no space, but throws ENOSPC if SOURCE has less free space than the file would grow.
  virtual void allocate(Request& /*request*/, int /*mode*/, std::int64_t /*offset*/,
                        std::int64_t /*size*/) {
    refuse();
  }

  /// As copy_file_range(2) from `source` to this file. EOPNOTSUPP unless both files are plain, and
  /// this one is open for writing. May copy fewer bytes than requested. Throws NoSlot
  /// if no slot is free.
  virtual std::size_t copy_from(Request& /*request*/, const FileHandle& /*source*/,
                                const CopiedRange& /*range*/) {
    refuse(EOPNOTSUPP);
  }
  /// As copy_file_range(2) from this file to a descriptor of SOURCE.
  virtual std::size_t copy_to(Request& /*request*/, int /*descriptor*/,
                              const CopiedRange& /*range*/) const {
    refuse(EOPNOTSUPP);
  }

  /// Makes everything that was written durable. Throws NoSlot if something must be stored.
  virtual void sync(Request& request) = 0;
  /// Called at each close of a descriptor. Throws the errors of earlier commits in the background,
  /// and NoSlot if it may have to commit.
  virtual void flush(Request& /*request*/) {}
  /// Called before close(), perhaps more than once. Throws NoSlot if close() may take
  /// long.
  virtual void before_close(Request& /*request*/) {}
  /// Ends the use of the handle. Called once, as the last call.
  virtual void close(Request& /*request*/) {}

 protected:
  FairShare::Part descriptors_;

 private:
  [[noreturn]] static void refuse(int error = EBADF) { frame::throw_errno(error, "file handle"); }

  const NodeId node_;
  const bool is_direct_;
};

}  // namespace bloscfs::fs
