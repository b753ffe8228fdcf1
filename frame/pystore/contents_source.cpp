#include "frame/pystore/contents_source.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "codec/block_decoder.hpp"
#include "codec/error.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline pystore {
namespace {

constexpr std::int64_t kMaxKeptBlock = std::int64_t{64} << 20;
/// Most memory for a page of the index, for an opened chunk's block starts, and for the map of a
/// variable-size frame.
constexpr std::size_t kMaxOpened = std::size_t{4} << 20;
/// Memory for a block as a multiple of its size: the block, its stored bytes, scratch memory of the
/// filters, and the reference block with its stored bytes.
constexpr std::size_t kTimesDecoded = 5;

class BlockwiseReader {
 public:
  BlockwiseReader(std::shared_ptr<const Snapshot> frame, ChargePointer charge)
      : frame_(std::move(frame)), charge_(std::move(charge)) {}

  void read(std::int64_t content_offset, MutableBytes out) {
    const std::lock_guard guard(mutex_);
    while (!out.empty()) {
      load(content_offset);
      const auto begin = static_cast<std::size_t>(content_offset - block_at_);
      const std::size_t size = std::min(out.size(), block_.size() - begin);
      std::copy_n(block_.begin() + static_cast<std::ptrdiff_t>(begin), size, out.begin());
      out = out.subspan(size);
      content_offset += static_cast<std::int64_t>(size);
    }
  }

 private:
  /// Decodes the block that holds the byte, and keeps it in place of the last one.
  void load(std::int64_t content_offset) {
    if (content_offset >= block_at_ && content_offset - block_at_ < std::ssize(block_)) return;
    if (!chunk_ || content_offset < chunk_->place.content_offset ||
        content_offset - chunk_->place.content_offset >= chunk_->place.nbytes)
      open_chunk(content_offset);
    const std::int64_t in_chunk = content_offset - chunk_->place.content_offset;
    block_ = std::vector<std::uint8_t>();  // = {} would keep the memory
    of_block_.reset();
    const std::int32_t block = chunk_->chunk.block_at(in_chunk);
    const codec::ByteRange range = chunk_->chunk.block_content(block);
    of_block_.emplace(*charge_, kTimesDecoded * checked_size(range));
    std::vector<std::uint8_t> decoded(checked_size(range));
    decode(block, decoded);
    block_at_ = chunk_->place.content_offset + range.offset;
    block_ = std::move(decoded);
  }

  void open_chunk(std::int64_t content_offset) {
    chunk_.reset();
    of_chunk_.reset();
    if (!map_ && frame_->needs_chunk_map()) {
      of_map_.emplace(*charge_, kMaxOpened);
      map_ = frame_->read_chunk_map(kMaxOpened, decoder_);
    }
    const std::int64_t number = frame_->page_at(content_offset, map_.get());
    const std::int64_t page_memory = frame_->page_memory(number, map_.get());
    if (page_memory > static_cast<std::int64_t>(kMaxOpened))
      throw codec::Error(codec::FormatErrc::too_large, "page of the index");
    const MemoryCharge::Part of_page(*charge_, static_cast<std::size_t>(page_memory));
    const auto page = frame_->read_page(number, map_.get(), decoder_);
    chunk_.emplace(frame_->open_chunk(page->place(page->chunk_at(content_offset)), kMaxOpened));
    const auto blocks = static_cast<std::size_t>(chunk_->chunk.block_count());
    of_chunk_.emplace(*charge_, blocks * sizeof(std::int32_t));
  }

  static std::size_t checked_size(const codec::ByteRange& range) {
    if (range.size > kMaxKeptBlock)
      throw codec::Error(codec::FormatErrc::too_large,
                         fmt::format("block of {} bytes > {}", range.size, kMaxKeptBlock));
    return static_cast<std::size_t>(range.size);
  }

  std::vector<std::uint8_t> read_stored(std::int32_t block) {
    const codec::ByteRange range = chunk_->chunk.block_stored(block);
    std::vector<std::uint8_t> stored(checked_size(range));
    frame_->read_stored(*chunk_, range, stored);
    return stored;
  }

  void decode(std::int32_t block, MutableBytes out) {
    const codec::Chunk& chunk = chunk_->chunk;
    if (chunk.header().is_special())
      return chunk.fill_special(chunk.block_content(block).offset, out);
    std::vector<std::uint8_t> reference;
    if (chunk.needs_reference(block)) {
      reference.resize(checked_size(chunk.block_content(0)));
      decoder_.decode(chunk, 0, read_stored(0), {}, reference);
    }
    decoder_.decode(chunk, block, read_stored(block), reference, out);
  }

  const std::shared_ptr<const Snapshot> frame_;
  const ChargePointer charge_;
  std::mutex mutex_;
  // The memory of map_, chunk_ and block_, charged to charge_.
  std::optional<MemoryCharge::Part> of_map_, of_chunk_, of_block_;
  codec::BlockDecoder decoder_;
  std::unique_ptr<const ChunkMap> map_;
  std::optional<OpenedChunk> chunk_;
  std::int64_t block_at_ = 0;
  std::vector<std::uint8_t> block_;
};

}  // namespace

ContentsSource::ContentsSource(std::shared_ptr<const Snapshot> outer, ContentsReader read,
                               std::uint64_t offset, std::uint64_t size)
    : outer_(std::move(outer)), read_(std::move(read)), offset_(offset), size_(size) {
  const auto nbytes = static_cast<std::uint64_t>(outer_->info().nbytes);
  if (offset > nbytes || size > nbytes - offset)
    codec::throw_malformed(fmt::format("{} bytes at {} of contents of {}", size, offset, nbytes));
}

std::size_t ContentsSource::read_at(std::uint64_t offset, MutableBytes out) const {
  if (offset >= size_) return 0;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
  read_(static_cast<std::int64_t>(offset_ + offset), out.first(size));
  if (!outer_->unchanged()) throw_errno(EIO, "the frame around it has changed");
  return size;
}

FileStamp ContentsSource::stamp() const {
  FileStamp stamp = outer_->stamp();
  stamp.size = outer_->unchanged() ? static_cast<std::int64_t>(size_) : -1;
  return stamp;
}

ContentsReader make_contents_reader(std::shared_ptr<const Snapshot> frame, ChargePointer charge) {
  auto reader = std::make_shared<BlockwiseReader>(std::move(frame), std::move(charge));
  return [reader](std::int64_t content_offset, MutableBytes out) {
    reader->read(content_offset, out);
  };
}

}  // namespace bloscfs::frame::inline pystore
