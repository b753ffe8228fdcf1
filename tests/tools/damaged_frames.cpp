#include "tests/tools/damaged_frames.hpp"

#include <memory>

#include <boost/endian/conversion.hpp>

#include "codec/block_decoder.hpp"
#include "frame/open/open.hpp"

namespace bloscfs::test {
namespace {

/// A damaged chunk may claim more contents than this. It is not read then.
constexpr std::int32_t kTooLarge = 1 << 24;

}  // namespace

std::vector<KnownChunk> read_chunks(const frame::Snapshot& snapshot, std::int64_t most) {
  codec::BlockDecoder decoder;
  std::unique_ptr<const frame::ChunkMap> map;
  if (snapshot.needs_chunk_map()) map = snapshot.read_chunk_map(1 << 20, decoder);
  std::vector<KnownChunk> chunks;
  const std::int64_t count = std::min(most, snapshot.info().nchunks);
  while (std::ssize(chunks) < count) {
    const auto page = snapshot.read_page(snapshot.page_of_chunk(std::ssize(chunks), map.get()),
                                         map.get(), decoder);
    const std::int64_t end = std::min(count, page->first_chunk() + page->chunk_count());
    for (std::int64_t number = std::ssize(chunks); number < end; ++number) {
      const frame::ChunkPlace place = page->place(number);
      if (place.nbytes > kTooLarge) return chunks;
      const frame::OpenedChunk opened = snapshot.open_chunk(place, kTooLarge);
      KnownChunk chunk{place.stored_offset, 0, ByteVector(static_cast<std::size_t>(place.nbytes))};
      if (opened.chunk.header().is_special()) {
        opened.chunk.fill_special(0, chunk.contents);
      } else {
        ByteVector stored(static_cast<std::size_t>(opened.chunk.header().cbytes));
        snapshot.read_stored(opened, {0, std::ssize(stored)}, stored);
        decoder.decode_all(opened.chunk, stored, chunk.contents);
      }
      if (place.special == codec::SpecialValue::none) chunk.cbytes = opened.chunk.header().cbytes;
      chunks.push_back(std::move(chunk));
    }
  }
  return chunks;
}

KnownFrame look_at(const fs_std::path& path) {
  const auto snapshot = frame::open_path(path, {});
  KnownFrame known;
  known.info = snapshot->info();
  known.chunks = read_chunks(*snapshot, snapshot->info().nchunks);
  for (const auto& layer : snapshot->vlmetalayers())
    known.keeps_checksums = known.keeps_checksums || layer.name == "bloscfs.xxh3";
  if (fs_std::is_directory(path)) return known;
  known.bytes = read_file(path);
  known.index_at = static_cast<std::uint64_t>(known.info.header_len + known.info.cbytes);
  known.index_end = known.index_at;
  if (!known.chunks.empty())
    known.index_end += boost::endian::load_little_u32(&known.bytes[known.index_at + 12]);
  return known;
}

ByteVector contents_of(const std::vector<KnownChunk>& chunks) {
  ByteVector contents;
  for (const KnownChunk& chunk : chunks)
    contents.insert(contents.end(), chunk.contents.begin(), chunk.contents.end());
  return contents;
}

ByteVector Damager::damage() {
  for (int i = between(random_, 1, 2); i > 0; --i) damage_once();
  return bytes_;
}

void Damager::damage_once() {
  const auto trailer = std::ssize(known_.bytes) - known_.info.trailer_len;
  switch (between(random_, 0, 6)) {
    case 0:
      what_ += " cut";
      bytes_.resize(static_cast<std::size_t>(between(random_, 0, std::ssize(bytes_))));
      return;
    case 1:
      what_ += " sectors";
      for (int i = between(random_, 1, 4); i > 0; --i)
        overwrite(between(random_, 0, std::ssize(bytes_) / 512) * 512, 512, true);
      return;
    case 2:
      what_ += " bits";
      for (int i = between(random_, 1, 20); i > 0 && !bytes_.empty(); --i)
        bytes_[static_cast<std::size_t>(between(random_, 0, std::ssize(bytes_) - 1))] ^=
            static_cast<std::uint8_t>(1 << between(random_, 0, 7));
      return;
    case 3:
      what_ += " header";
      return overwrite(0, known_.info.header_len, one_in(random_, 2));
    case 4:
      what_ += " header field";
      return overwrite(between(random_, 0, 86), between(random_, 1, 8), one_in(random_, 2));
    case 5:
      what_ += " trailer";
      return overwrite(trailer, known_.info.trailer_len, one_in(random_, 2));
    default:
      what_ += " index";
      return overwrite(static_cast<std::int64_t>(known_.index_at),
                       static_cast<std::int64_t>(known_.index_end - known_.index_at),
                       one_in(random_, 2));
  }
}

void Damager::overwrite(std::int64_t at, std::int64_t size, bool zeros) {
  for (std::int64_t i = at; i < std::min(at + size, std::ssize(bytes_)); ++i)
    bytes_[static_cast<std::size_t>(i)] =
        zeros ? std::uint8_t{0} : static_cast<std::uint8_t>(between(random_, 0, 255));
}

}  // namespace bloscfs::test
