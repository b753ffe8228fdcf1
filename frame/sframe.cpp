#include "frame/sframe.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>

#include "codec/error.hpp"
#include "frame/sframe_format.hpp"

namespace bloscfs::frame {
namespace {

/// Symlinks are not followed and fifos do not block: a directory may hold anything.
constexpr int kOpenFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

/// Opens a regular file; nothing if there is none of that name.
UniqueFd open_regular(int directory, const char* name) {
  UniqueFd fd(::openat(directory, name, kOpenFlags));
  if (!fd) {
    if (errno == ENOENT || errno == ELOOP || errno == ENXIO || errno == ENOTDIR) return {};
    throw std::system_error(errno, std::generic_category(), name);
  }
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) throw std::system_error(errno, std::generic_category(), name);
  return S_ISREG(st.st_mode) ? std::move(fd) : UniqueFd();
}

class DirectoryFiles final : public SframeFiles {
 public:
  DirectoryFiles(UniqueFd directory, UniqueFd index, SourceCounters* counters)
      : directory_(std::move(directory)),
        index_(std::make_shared<FileSource>(std::move(index), counters)),
        counters_(counters) {}

  std::shared_ptr<const ByteSource> index() const override { return index_; }

  std::shared_ptr<const ByteSource> open_chunk(std::uint32_t number) const override {
    const std::string name = chunk_file_name(number);
    UniqueFd fd = open_regular(directory_.get(), name.c_str());
    if (!fd) codec::throw_malformed(fmt::format("chunk file {} is missing", name));
    return std::make_shared<FileSource>(std::move(fd), counters_);
  }

  std::optional<FileStamp> index_stamp() const override {
    struct stat st {};
    if (::fstatat(directory_.get(), kSframeIndexName, &st, AT_SYMLINK_NOFOLLOW) != 0)
      return std::nullopt;
    return stamp_of(st);
  }

  std::shared_ptr<PeerLock> lock() const override {
    return PeerLock::open(directory_.get(), kSframeLockName);
  }

 private:
  UniqueFd directory_;
  std::shared_ptr<const ByteSource> index_;
  SourceCounters* counters_;
};

class SframeSnapshot final : public FrameSnapshot {
 public:
  SframeSnapshot(FrameParts parts, std::shared_ptr<const SframeFiles> files, FileStamp stamp,
                 std::shared_ptr<ExpectedState> expected, std::shared_ptr<PeerLock> lock)
      : FrameSnapshot(std::move(parts), files->index(), stamp, 0, std::move(expected),
                      std::move(lock)),
        files_(std::move(files)) {}

  /// Numbers of chunk files are used again, so an index that somebody replaced makes what this one
  /// says doubtful.
  bool unchanged() const override {
    const PeerLock::Shared shared = lock_shared();
    if (!generation_as_expected()) return false;
    const auto named = files_->index_stamp();
    if (!named || !expected()->matches_stamp(*named)) return false;
    // A writer that shares `expected` replaces the file: that of an earlier state stays as it was.
    return named->inode != stamp_.inode || expected()->matches(*source_, 0);
  }

 protected:
  ChunkFile chunk_file(const ChunkPlace& place) const override {
    auto source = files_->open_chunk(static_cast<std::uint32_t>(place.stored_offset));
    const FileStamp stamp = source->stamp();
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(0, stamp.size));
    return {std::move(source), {0, std::min(place.stored_limit, size)}, stamp};
  }

 private:
  std::shared_ptr<const SframeFiles> files_;
};

}  // namespace

std::unique_ptr<FrameSnapshot> open_sframe(std::shared_ptr<const SframeFiles> files,
                                           std::shared_ptr<ExpectedState> expected) {
  std::shared_ptr<PeerLock> lock = files->lock();
  const PeerLock::Shared shared(lock);
  FileStamp stamp;
  FrameParts parts = read_stable_parts(*files->index(), 0, 1, stamp);
  return std::make_unique<SframeSnapshot>(std::move(parts), std::move(files), stamp,
                                          std::move(expected), std::move(lock));
}

std::shared_ptr<const SframeFiles> open_sframe_files(UniqueFd directory, SourceCounters* counters) {
  UniqueFd index = open_regular(directory.get(), kSframeIndexName);
  if (!index) return nullptr;
  return std::make_shared<DirectoryFiles>(std::move(directory), std::move(index), counters);
}

}  // namespace bloscfs::frame
