#include "frame/sframe/sframe.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline sframe {
namespace {

/// True if only the owner of a chunk file may read it, and another user owns the frame. The owner
/// of the frame may have linked that file into the directory.
bool is_private_of_another(const ByteSource& chunk, const ByteSource& index) {
  const auto of_chunk = chunk.readers();
  if (!of_chunk || of_chunk->has_others) return false;
  const auto of_index = index.readers();
  return of_index && of_index->owner != of_chunk->owner;
}

class StoredFiles final : public SframeFiles {
 public:
  StoredFiles(std::shared_ptr<const StoreDirectory> directory,
              std::shared_ptr<const ByteSource> index)
      : directory_(std::move(directory)), index_(std::move(index)) {}

  std::shared_ptr<const ByteSource> index() const override { return index_; }

  std::shared_ptr<const ByteSource> open_chunk(std::uint32_t number) const override {
    const std::string name = chunk_file_name(number);
    auto source = directory_->open_source(name);
    if (!source) codec::throw_malformed(fmt::format("chunk file {} is missing", name));
    if (is_private_of_another(*source, *index_))
      throw_errno(EACCES, fmt::format("chunk file {} of another user", name));
    return source;
  }

  std::optional<FileStamp> index_stamp() const override {
    try {
      return directory_->stamp(kSframeIndexName);
    } catch (const std::system_error&) {
      return std::nullopt;
    }
  }

  bool are_lasting() const override { return directory_->is_lasting(); }
  bool are_over_network() const override { return directory_->is_over_network(); }
  std::int64_t max_bytes_in_flight() const override { return directory_->max_bytes_in_flight(); }
  void expect(std::uint32_t number, std::span<const ByteRange> ranges) const override {
    directory_->expect(chunk_file_name(number), ranges);
  }
  bool is_available(std::uint32_t number, std::span<const ByteRange> ranges) const override {
    return directory_->is_available(chunk_file_name(number), ranges);
  }

  std::shared_ptr<PeerLock> lock() const override {
    return PeerLock::open(directory_->descriptor(), kSframeLockName);
  }

 private:
  std::shared_ptr<const StoreDirectory> directory_;
  std::shared_ptr<const ByteSource> index_;
};

/// Calls `use(number, ranges)` for each group of consecutive ranges in one chunk file. Stops and
/// returns false if `use` returns false.
template <typename Use>
bool for_each_file(std::span<const StoredRange> ranges, Use use) {
  std::vector<ByteRange> parts;
  for (std::size_t i = 0; i < ranges.size(); i++) {
    parts.push_back(ranges[i].range);
    const bool is_last = i + 1 == ranges.size() || ranges[i + 1].file != ranges[i].file;
    if (!is_last) continue;
    if (ranges[i].file && !use(static_cast<std::uint32_t>(*ranges[i].file), parts)) return false;
    parts.clear();
  }
  return true;
}

class SframeSnapshot final : public FrameSnapshot {
 public:
  SframeSnapshot(FrameParts parts, std::shared_ptr<const SframeFiles> files, FileStamp stamp,
                 std::shared_ptr<ExpectedState> expected, std::shared_ptr<PeerLock> lock)
      : FrameSnapshot(std::move(parts), files->index(), stamp, std::move(expected),
                      std::move(lock)),
        files_(std::move(files)) {}

  bool is_lasting() const override { return files_->are_lasting(); }
  bool is_over_network() const override { return files_->are_over_network(); }
  std::int64_t most_ahead() const override { return files_->max_bytes_in_flight(); }
  void expect(std::span<const StoredRange> ranges) const override {
    for_each_file(ranges, [&](std::uint32_t number, std::span<const ByteRange> parts) {
      files_->expect(number, parts);
      return true;
    });
  }
  bool is_available(std::span<const StoredRange> ranges) const override {
    return for_each_file(ranges, [&](std::uint32_t number, std::span<const ByteRange> parts) {
      return files_->is_available(number, parts);
    });
  }

  /// Also checks which file has the index's name now. Other programs reuse the numbers of chunk
  /// files. Once another index is in place, this one's chunk files may have other contents.
  bool is_unchanged_without_wait() const override {
    if (!is_unchanged_by_peer()) return false;
    const auto named = files_->index_stamp();
    if (!named || !expected()->matches_stamp(*named)) return false;
    // If the writer that shares expected() has put a new index file there, the file of this earlier
    // state is as it was.
    return named->inode != stamp_.inode || expected()->matches(*source_);
  }

 protected:
  std::optional<std::uint64_t> file_of(const ChunkPlace& place) const override {
    return place.stored_offset;
  }
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
  FrameParts parts = read_stable_parts(*files->index(), 1, stamp);
  return std::make_unique<SframeSnapshot>(std::move(parts), std::move(files), stamp,
                                          std::move(expected), std::move(lock));
}

std::shared_ptr<const SframeFiles> open_sframe_files(
    std::shared_ptr<const StoreDirectory> directory) {
  auto index = directory->open_source(kSframeIndexName);
  if (!index) return nullptr;
  return std::make_shared<StoredFiles>(std::move(directory), std::move(index));
}

}  // namespace bloscfs::frame::inline sframe
