#include "tools/bare_chunk.hpp"

#include <algorithm>

#include <fcntl.h>

#include "frame/store/throw_errno.hpp"
#include "frame/stored/stored_chunk.hpp"

namespace bloscfs::tools {
namespace {

/// An index page with a single chunk.
class SinglePage final : public frame::IndexPage {
 public:
  explicit SinglePage(const frame::ChunkPlace& place) : place_(place) {}
  std::int64_t first_chunk() const override { return 0; }
  std::int64_t chunk_count() const override { return 1; }
  frame::ChunkPlace place(std::int64_t /*chunk*/) const override { return place_; }
  std::int64_t chunk_at(std::int64_t /*content_offset*/) const override { return 0; }
  bool uniform_special() const override { return false; }
  std::size_t memory() const override { return sizeof(*this); }

 private:
  frame::ChunkPlace place_;
};

class BareChunk final : public frame::Snapshot {
 public:
  BareChunk(std::shared_ptr<const frame::ByteSource> source, const frame::FileStamp& stamp)
      : Snapshot({}, std::move(source), stamp) {
    demands_.min_cbytes = codec::kShortHeaderSize;
    const codec::ChunkHeader header = frame::read_chunk_header(*source_, whole_file(), demands_);
    info_.typesize = header.typesize;
    info_.chunksize = header.nbytes;
    info_.blocksize = header.blocksize;
    info_.nbytes = header.nbytes;
    info_.cbytes = header.cbytes;
    info_.nchunks = 1;
    info_.frame_len = header.cbytes;
    info_.vl_blocks = header.vl_blocks;
    info_.use_dict = header.has_dictionary;
    info_.codec = header.codec;
    info_.codec_meta = header.codec_meta;
    std::copy(header.filters.begin(), header.filters.end(), info_.filters.begin());
  }

  bool unchanged() const override { return source_->stamp() == stamp_; }
  bool needs_chunk_map() const override { return false; }
  std::unique_ptr<const frame::ChunkMap> read_chunk_map(std::size_t,
                                                        codec::BlockDecoder&) const override {
    return nullptr;
  }
  std::int64_t page_of_chunk(std::int64_t, const frame::ChunkMap*) const override { return 0; }
  std::int64_t page_at(std::int64_t, const frame::ChunkMap*) const override { return 0; }
  std::int64_t page_memory(std::int64_t, const frame::ChunkMap*) const override {
    return sizeof(SinglePage);
  }
  std::unique_ptr<const frame::IndexPage> read_page(std::int64_t, const frame::ChunkMap*,
                                                    codec::BlockDecoder&) const override {
    frame::ChunkPlace place;
    place.nbytes = info_.chunksize;
    place.stored_limit = whole_file().limit;
    return std::make_unique<SinglePage>(place);
  }
  frame::OpenedChunk open_chunk(const frame::ChunkPlace& place,
                                std::size_t max_memory) const override {
    frame::ChunkDemands demands = demands_;
    demands.nbytes = place.nbytes;
    demands.max_memory = max_memory;
    return {frame::open_stored_chunk(*source_, whole_file(), demands), place, {}};
  }
  void read_stored(const frame::OpenedChunk& /*chunk*/, const codec::ByteRange& range,
                   frame::MutableBytes out) const override {
    source_->read_exactly_at(static_cast<std::uint64_t>(range.offset), out, "block");
  }

 private:
  frame::StoredAt whole_file() const { return {0, static_cast<std::uint64_t>(stamp_.size)}; }

  frame::ChunkDemands demands_;
};

}  // namespace

std::shared_ptr<const frame::Snapshot> open_bare_chunk(const std::string& path) {
  frame::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) frame::throw_errno("open");
  auto source = std::make_shared<frame::FileSource>(std::move(fd), nullptr);
  const frame::FileStamp stamp = source->stamp();
  return std::make_shared<BareChunk>(std::move(source), stamp);
}

}  // namespace bloscfs::tools
