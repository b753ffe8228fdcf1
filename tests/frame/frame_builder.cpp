#include "tests/frame/frame_builder.hpp"

#include <algorithm>
#include <cstring>

#include "codec/error.hpp"
#include "frame/array/array_geometry.hpp"
#include "frame/cframe/cframe.hpp"

namespace bloscfs::frame::test {
namespace {

constexpr std::size_t kIndexBlock = 16384;

void put_little(Buffer& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void set_little32(Buffer& out, std::size_t at, std::size_t value) {
  for (std::size_t i = 0; i < 4; ++i) out[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

/// Makes an extended header. finish() sets cbytes.
Buffer chunk_header(std::uint8_t flags, int typesize, std::size_t nbytes, std::size_t blocksize,
                    std::uint8_t blosc2_flags = 0) {
  Buffer out = {5, 1, flags, static_cast<std::uint8_t>(typesize > 255 ? 1 : typesize)};
  put_little(out, nbytes, 4);
  put_little(out, blocksize, 4);
  out.resize(32);
  out[0x16] = 1;
  out[0x1f] = blosc2_flags;
  return out;
}

Buffer finish(Buffer chunk) {
  set_little32(chunk, 12, chunk.size());
  return chunk;
}

/// Appends one plane of a shuffled block, as a run if all bytes are equal.
void put_plane(Buffer& out, const Buffer& plane) {
  const bool run = std::all_of(plane.begin(), plane.end(),
                               [&](std::uint8_t byte) { return byte == plane.front(); });
  if (!run) {
    put_little(out, plane.size(), 4);
    append(out, plane);
    return;
  }
  put_little(out, static_cast<std::uint64_t>(-std::int64_t{plane.front()}), 4);
  if (plane.front() != 0) out.push_back(1);
}

/// Makes the metalayer map and the contents. Offsets count from `base` bytes before the map.
Buffer metalayer_section(const std::vector<std::pair<std::string, Buffer>>& layers,
                         std::size_t base) {
  std::size_t map = 7;
  for (const auto& layer : layers) map += 1 + layer.first.size() + 5;
  Buffer out = {0x93, 0xcd};
  put_big(out, map, 2);
  out.push_back(0xde);
  put_big(out, layers.size(), 2);
  std::size_t at = base + map + 3;
  for (const auto& [name, content] : layers) {
    out.push_back(static_cast<std::uint8_t>(0xa0 + name.size()));
    out.insert(out.end(), name.begin(), name.end());
    out.push_back(0xd2);
    put_big(out, at, 4);
    at += 5 + content.size();
  }
  out.push_back(0xdc);
  put_big(out, layers.size(), 2);
  for (const auto& layer : layers) {
    out.push_back(0xc6);
    put_big(out, layer.second.size(), 4);
    append(out, layer.second);
  }
  return out;
}

void put_trailer_end(Buffer& out) {
  out.push_back(0xce);
  put_big(out, out.size() + 22, 4);
  out.push_back(0xd8);
  out.resize(out.size() + 17);
}

/// Makes the fields that both header layouts start with.
Buffer header_start(std::uint8_t array_marker, const std::uint8_t (&flags)[4], std::int64_t nbytes,
                    std::size_t cbytes, std::int32_t typesize) {
  Buffer out = {array_marker, 0xa8, 'b', '2', 'f', 'r', 'a', 'm', 'e', 0, 0xd2, 0, 0, 0, 0, 0xcf};
  out.resize(out.size() + 8);
  out.push_back(0xa4);
  out.insert(out.end(), std::begin(flags), std::end(flags));
  out.push_back(0xd3);
  put_big(out, static_cast<std::uint64_t>(nbytes), 8);
  out.push_back(0xd3);
  put_big(out, cbytes, 8);
  out.push_back(0xd2);
  put_big(out, static_cast<std::uint32_t>(typesize), 4);
  return out;
}

void set_big(Buffer& out, std::size_t at, std::uint64_t value, int bytes) {
  Buffer field;
  put_big(field, value, bytes);
  std::copy(field.begin(), field.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

std::size_t MemorySource::read_at(std::uint64_t offset, MutableBytes out) const {
  reads.push_back({offset, out.size()});
  if (out.empty() || offset >= bytes.size()) return 0;
  const std::size_t size = std::min<std::size_t>(out.size(), bytes.size() - offset);
  std::memcpy(out.data(), bytes.data() + offset, size);
  return size;
}

std::uint64_t MemorySource::bytes_read() const {
  std::uint64_t sum = 0;
  for (const Read& read : reads) sum += read.size;
  return sum;
}

void put_big(Buffer& out, std::uint64_t value, int bytes) {
  for (int i = bytes; i-- > 0;) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

Buffer pattern(std::size_t size, unsigned seed) {
  Buffer out(size);
  unsigned state = seed * 2654435761u + 1;
  for (std::uint8_t& byte : out)
    byte = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  return out;
}

Buffer make_memcpy_chunk(const Buffer& content, int typesize) {
  Buffer out =
      chunk_header(0x07, typesize, content.size(), std::max<std::size_t>(1, content.size()));
  append(out, content);
  return finish(std::move(out));
}

Buffer make_block_chunk(const Buffer& content, int typesize, int blocksize) {
  const auto step = static_cast<std::size_t>(blocksize);
  const std::size_t blocks = codec::ceil_div(content.size(), step);
  Buffer out = chunk_header(0x35, typesize, content.size(), step);
  out.resize(32 + 4 * blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    set_little32(out, 32 + 4 * i, out.size());
    const std::size_t size = std::min(step, content.size() - i * step);
    put_little(out, size, 4);
    const auto begin = content.begin() + static_cast<std::ptrdiff_t>(i * step);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  return finish(std::move(out));
}

Buffer make_value_chunk(const Buffer& value, std::int32_t nbytes) {
  const auto blocksize = static_cast<std::size_t>(std::clamp(nbytes, 1, 16384));
  Buffer out = chunk_header(0x05, static_cast<int>(value.size()), static_cast<std::size_t>(nbytes),
                            blocksize, 0x30);
  append(out, value);
  return finish(std::move(out));
}

Buffer make_vl_chunk(const std::vector<Buffer>& blocks) {
  std::size_t nbytes = 0;
  for (const Buffer& block : blocks) nbytes += block.size();
  Buffer out = chunk_header(0x35, 1, nbytes, blocks.size());
  out[0] = 6;
  out[0x1e] = 1;
  out.resize(32 + 4 * blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    set_little32(out, 32 + 4 * i, out.size());
    put_little(out, blocks[i].size(), 4);
    append(out, blocks[i]);
  }
  return finish(std::move(out));
}

Buffer make_index_chunk(const std::vector<std::int64_t>& entries) {
  const std::size_t nbytes = 8 * entries.size();
  if (nbytes < 32) {
    Buffer raw;
    for (const std::int64_t entry : entries) put_little(raw, static_cast<std::uint64_t>(entry), 8);
    return make_memcpy_chunk(raw, 8);
  }
  const std::size_t blocksize = std::min(nbytes, kIndexBlock);
  const std::size_t per_block = blocksize / 8;
  const std::size_t blocks = codec::ceil_div(entries.size(), per_block);
  Buffer out = chunk_header(0x35, 8, nbytes, blocksize);
  out[0x10 + 5] = 1;  // shuffle
  out[2] = 0x25;      // lz4, split into one stream per byte of an item
  out.resize(32 + 4 * blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    set_little32(out, 32 + 4 * i, out.size());
    const std::size_t first = i * per_block;
    const std::size_t count = std::min(per_block, entries.size() - first);
    Buffer whole;
    for (int plane = 0; plane < 8; ++plane) {
      Buffer bytes(count);
      for (std::size_t j = 0; j < count; ++j)
        bytes[j] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(entries[first + j]) >>
                                             (8 * plane));
      if (count == per_block)
        put_plane(out, bytes);
      else
        append(whole, bytes);  // a short last block is a single stream
    }
    if (!whole.empty()) put_plane(out, whole);
  }
  return finish(std::move(out));
}

void FrameBuilder::add(const Buffer& chunk, std::size_t content_size) {
  entries.push_back(static_cast<std::int64_t>(chunk_area.size()));
  append(chunk_area, chunk);
  nbytes += static_cast<std::int64_t>(content_size);
}

Buffer FrameBuilder::index() const {
  if (nbytes == 0 && entries.empty()) return {};
  return index_chunk.empty() ? make_index_chunk(entries) : index_chunk;
}

Buffer FrameBuilder::header() const {
  Buffer out = header_start(0x9e, {general_flags, frame_type, 0x51, 0x03}, nbytes,
                            chunk_area.size(), typesize);
  for (const std::int32_t field : {blocksize, chunksize}) {
    out.push_back(0xd2);
    put_big(out, static_cast<std::uint32_t>(field), 4);
  }
  for (int i = 0; i < 2; ++i) append(out, {0xd1, 0, 1});
  append(out, {static_cast<std::uint8_t>(vlmetalayers.empty() ? 0xc2 : 0xc3), 0xd8, 6});
  append(out, {0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  append(out, metalayer_section(metalayers, out.size()));
  set_big(out, 0x0b, out.size(), 4);
  const std::size_t chunks = frame_type == 0 ? chunk_area.size() : 0;
  set_big(out, 0x10, out.size() + chunks + index().size() + slack + trailer().size(), 8);
  return out;
}

Buffer FrameBuilder::trailer() const {
  Buffer out = {0x94, 0x01};
  append(out, metalayer_section(vlmetalayers, 2));
  put_trailer_end(out);
  return out;
}

Buffer FrameBuilder::build() const {
  Buffer out = header();
  if (frame_type == 0) append(out, chunk_area);
  append(out, index());
  out.resize(out.size() + slack, 0xee);
  append(out, trailer());
  return out;
}

FrameBuilder simple_frame(const Buffer& content, std::int32_t chunksize, std::int32_t blocksize) {
  FrameBuilder frame;
  frame.chunksize = chunksize;
  frame.blocksize = blocksize;
  for (std::size_t at = 0; at < content.size(); at += static_cast<std::size_t>(chunksize)) {
    const std::size_t size = std::min(static_cast<std::size_t>(chunksize), content.size() - at);
    const auto begin = content.begin() + static_cast<std::ptrdiff_t>(at);
    frame.add(make_block_chunk({begin, begin + static_cast<std::ptrdiff_t>(size)}, 1, blocksize),
              size);
  }
  return frame;
}

Buffer early_frame(const Buffer& content, std::int32_t chunksize, int width,
                   const Buffer& usermeta_chunk, const Buffer& metalayer) {
  const FrameBuilder chunks = simple_frame(content, chunksize, chunksize);
  Buffer raw;
  for (const std::int64_t entry : chunks.entries)
    put_little(raw, static_cast<std::uint64_t>(entry), width);
  const int width_code = width == 2 ? 0 : width == 4 ? 1 : 2;
  const auto flags = static_cast<std::uint8_t>(1 | width_code << 4);
  Buffer out = header_start(0x9d, {flags, 0, 0x54, 0}, chunks.nbytes, chunks.chunk_area.size(), 1);
  out.push_back(0xd2);
  put_big(out, static_cast<std::uint32_t>(chunksize), 4);
  for (int i = 0; i < 2; ++i) append(out, {0xd1, 0, 1});
  append(out, {0xc3, 0xd8, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  if (!metalayer.empty()) append(out, metalayer_section({{"early", metalayer}}, out.size()));
  set_big(out, 0x0b, out.size(), 4);
  append(out, chunks.chunk_area);
  append(out, make_memcpy_chunk(raw, width));
  Buffer trailer = {0x94, 0x01, 0xc6};
  put_big(trailer, usermeta_chunk.size(), 4);
  append(trailer, usermeta_chunk);
  put_trailer_end(trailer);
  append(out, trailer);
  set_big(out, 0x10, out.size(), 8);
  return out;
}

std::shared_ptr<const ByteSource> MemoryFiles::open_chunk(std::uint32_t number) const {
  const auto found = chunks.find(number);
  if (found == chunks.end()) codec::throw_malformed("chunk file is missing");
  return found->second;
}

ContentReader::ContentReader(const Snapshot& snapshot) : snapshot_(snapshot) {
  if (snapshot.needs_chunk_map()) map_ = snapshot.read_chunk_map(std::size_t{8} << 20, decoder_);
}

const OpenedChunk& ContentReader::open(std::int64_t chunk) {
  if (chunk_ && chunk_->place.number == chunk) return *chunk_;
  if (!page_ || chunk < page_->first_chunk() ||
      chunk >= page_->first_chunk() + page_->chunk_count()) {
    const std::int64_t number = snapshot_.page_of_chunk(chunk, map_.get());
    if (snapshot_.page_memory(number, map_.get()) > (std::int64_t{64} << 20))
      throw codec::Error(codec::FormatErrc::too_large, "index page");
    page_ = snapshot_.read_page(number, map_.get(), decoder_);
  }
  block_number_ = -1;
  chunk_.reset();
  chunk_ = std::make_unique<OpenedChunk>(
      snapshot_.open_chunk(page_->place(chunk), std::size_t{16} << 20));
  return *chunk_;
}

Buffer ContentReader::decode(std::int32_t number, const Buffer& reference) {
  const codec::Chunk& chunk = chunk_->chunk;
  if (chunk.decode_memory() > (std::int64_t{128} << 20))
    throw codec::Error(codec::FormatErrc::too_large, "block");
  const codec::ByteRange range = chunk.block_stored(number);
  Buffer stored(static_cast<std::size_t>(range.size));
  snapshot_.read_stored(*chunk_, range, stored);
  Buffer out(static_cast<std::size_t>(chunk.block_content(number).size));
  decoder_.decode(chunk, number, stored, reference, out);
  return out;
}

const Buffer& ContentReader::block(std::int32_t number) {
  if (block_number_ != number) {
    const bool refers = chunk_->chunk.needs_reference(number);
    block_ = decode(number, refers ? decode(0, {}) : Buffer());
    block_number_ = number;
  }
  return block_;
}

void ContentReader::read(std::int64_t offset, MutableBytes out) {
  while (!out.empty()) {
    if (!page_ || !chunk_ || offset < chunk_->place.content_offset ||
        offset >= chunk_->place.content_offset + chunk_->place.nbytes) {
      page_ = snapshot_.read_page(snapshot_.page_at(offset, map_.get()), map_.get(), decoder_);
      open(page_->chunk_at(offset));
    }
    const std::int64_t in_chunk = offset - chunk_->place.content_offset;
    const std::int32_t number = chunk_->chunk.block_at(in_chunk);
    const codec::ByteRange range = chunk_->chunk.block_content(number);
    const auto size = std::min<std::size_t>(
        out.size(), static_cast<std::size_t>(range.offset + range.size - in_chunk));
    if (chunk_->chunk.header().is_special())
      chunk_->chunk.fill_special(in_chunk, out.first(size));
    else
      std::memcpy(out.data(), block(number).data() + (in_chunk - range.offset), size);
    offset += static_cast<std::int64_t>(size);
    out = out.subspan(size);
  }
}

void ContentReader::read_array(std::int64_t offset, MutableBytes out) {
  const ArrayGeometry geometry(*snapshot_.info().array, snapshot_.info().typesize);
  geometry.for_each_block(
      offset, static_cast<std::int64_t>(out.size()), [&](const ArrayGeometry::BlockPart& part) {
        const std::int64_t base = part.chunk * snapshot_.info().chunksize + part.chunk_offset;
        part.for_each_run([&](const ArrayGeometry::Run& run) {
          read(base + run.in_block, out.subspan(static_cast<std::size_t>(run.array_offset - offset),
                                                static_cast<std::size_t>(run.length)));
        });
      });
}

std::int64_t ContentReader::size() const {
  const FrameInfo& info = snapshot_.info();
  return info.array ? ArrayGeometry(*info.array, info.typesize).nbytes() : info.nbytes;
}

Buffer ContentReader::read_all() {
  if (size() > (std::int64_t{256} << 20))
    throw codec::Error(codec::FormatErrc::too_large, "contents");
  Buffer out(static_cast<std::size_t>(size()));
  if (snapshot_.info().array)
    read_array(0, out);
  else
    read(0, out);
  return out;
}

Buffer read_all(const Snapshot& snapshot) { return ContentReader(snapshot).read_all(); }

std::unique_ptr<Snapshot> open_bytes(Buffer content, std::shared_ptr<MemorySource>* source) {
  auto memory = std::make_shared<MemorySource>(std::move(content));
  if (source != nullptr) *source = memory;
  return open_cframe(memory, {});
}

std::optional<std::uint64_t> recorded_checksum(const Snapshot& snapshot, std::int64_t chunk,
                                               codec::BlockDecoder& decoder) {
  const auto sums = snapshot.recorded_checksums(chunk, 1, decoder);
  return sums.empty() ? std::nullopt : std::optional<std::uint64_t>(sums.front());
}

}  // namespace bloscfs::frame::test
