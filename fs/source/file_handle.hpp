#pragma once
// What the kernel may ask of a file that it has open, whatever kind of file that is.

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

/// Bytes of a file where a descriptor has them, to be spliced. The handle keeps that open.
struct DescriptorRange {
  int descriptor = -1;
  std::int64_t offset = 0;
  std::size_t size = 0;  ///< fewer behind the file's end
};
using ReadBytes = std::variant<ReplyData, DescriptorRange>;

/// Where bytes go that are written.
struct WritePlace {
  std::int64_t offset = 0;  ///< that the kernel has chosen
  bool appends = false;     ///< it may be wrong: they go to the end
  bool are_pages = false;   ///< the kernel writes them back, of a mapping or from its cache
};

struct CopiedRange {
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  std::size_t size = 0;
  unsigned flags = 0;  ///< of copy_file_range(2)
};

/// What one open file may have, in the daemon's own descriptors.
struct DescriptorNeed {
  static constexpr std::size_t kReader = 1;      ///< a frame, or a plain file
  static constexpr std::size_t kWriter = 3;      ///< a frame and its writer's file and directory
  static constexpr std::size_t kSparseMore = 2;  ///< a sparse frame's directory, for both of them
};

/// Thread-safe but for keep() and close(). Errors: std::system_error with the errno, codec::Error.
class FileHandle {
 public:
  /// `flags` as of open(2).
  FileHandle(NodeId node, int flags) : node_(node), is_direct_((flags & O_DIRECT) != 0) {}
  virtual ~FileHandle() = default;
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;

  NodeId node() const { return node_; }
  /// Opened with O_DIRECT: short replies are allowed.
  bool is_direct() const { return is_direct_; }
  /// What it may have open until it is closed, or until a commit of what was written.
  void keep(FairShare::Part descriptors) { descriptors_ = std::move(descriptors); }

  /// Also when another state has taken the name of what it has open.
  virtual struct stat attributes(Request& request) const = 0;
  /// True if whoever opened it probably maps it and wants only parts of it.
  virtual bool may_be_mapped() const { return false; }
  /// Tells, once, of a read that `user` has asked for, before read(), which may be called twice for
  /// it: may have what is behind it decoded ahead.
  virtual void expect_more(std::int64_t /*offset*/, std::int64_t /*size*/, uid_t /*user*/) {}
  /// The file's bytes [offset, offset + size), cut at its end. NoSlot where they must be decoded.
  virtual ReadBytes read(Request& request, std::int64_t offset, std::int64_t size) = 0;
  /// As lseek(2) with SEEK_DATA and SEEK_HOLE. Throws ENXIO behind the end.
  virtual std::int64_t seek(Request& request, std::int64_t offset, int whence) const = 0;
  /// True if somebody has the file open for writing, so that the kernel may know more of it.
  virtual bool has_writers() const = 0;

  // EBADF of what was not opened for writing.

  /// Returns how many bytes it has taken, which are fewer where SOURCE has no room for all.
  virtual std::size_t write(Request& /*request*/, const WritePlace& /*place*/,
                            codec::Bytes /*bytes*/) {
    refuse();
  }
  /// The same for bytes one behind the other; may take the cells, and leave empty ones.
  virtual std::size_t write(Request& /*request*/, const WritePlace& /*place*/,
                            std::span<PooledBuffer> /*cells*/) {
    refuse();
  }
  /// The user to whom written bytes count until a commit has stored them; nullopt where a write
  /// stores them at once.
  virtual std::optional<uid_t> dirty_user() const { return std::nullopt; }
  virtual void truncate(Request& /*request*/, std::int64_t /*size*/) { refuse(); }
  /// As fallocate(2). Of a container for the modes that punch, zero and set sizes: contents take no
  /// space before they are written, but none is promised where SOURCE has not as much: ENOSPC.
  virtual void allocate(Request& /*request*/, int /*mode*/, std::int64_t /*offset*/,
                        std::int64_t /*size*/) {
    refuse();
  }

  /// copy_file_range(2) to here. EOPNOTSUPP unless both files are plain, and this one is written.
  /// May copy fewer bytes than are asked for. NoSlot.
  virtual std::size_t copy_from(Request& /*request*/, const FileHandle& /*source*/,
                                const CopiedRange& /*range*/) {
    refuse(EOPNOTSUPP);
  }
  /// The same from here to a descriptor of SOURCE.
  virtual std::size_t copy_to(Request& /*request*/, int /*descriptor*/,
                              const CopiedRange& /*range*/) const {
    refuse(EOPNOTSUPP);
  }

  /// What was written is durable when it returns. NoSlot where something must be stored.
  virtual void sync(Request& request) = 0;
  /// At each close of a descriptor: reports errors of commits in the background. NoSlot where it
  /// may have to commit.
  virtual void flush(Request& /*request*/) {}
  /// Called before close(), perhaps more than once. NoSlot if close() may take long.
  virtual void before_close(Request& /*request*/) {}
  /// Nobody asks it for anything any more. To be called once.
  virtual void close(Request& /*request*/) {}

 protected:
  FairShare::Part descriptors_;

 private:
  [[noreturn]] static void refuse(int error = EBADF) { frame::throw_errno(error, "file handle"); }

  const NodeId node_;
  const bool is_direct_;
};

}  // namespace bloscfs::fs
