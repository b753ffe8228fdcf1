#include "tests/frame/blp_builder.hpp"

#include <algorithm>

#include <zlib.h>

#include "frame/bloscpack/bloscpack.hpp"

namespace bloscfs::frame::test {
namespace {

void put_little(Buffer& out, std::int64_t value, int bytes) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(bits >> (8 * i)));
}

Buffer digest_of(DigestKind kind, const Buffer& bytes) {
  Digest digest(kind);
  digest.update(bytes);
  return digest.finish();
}

Buffer deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  Buffer out(size);
  compress(out.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size());
  out.resize(size);
  return out;
}

}  // namespace

Buffer make_blosc1_chunk(const Buffer& content) {
  Buffer out = {2, 1, 0x02, 1};
  const auto size = static_cast<std::int64_t>(content.size());
  put_little(out, size, 4);
  put_little(out, std::max<std::int64_t>(size, 1), 4);
  put_little(out, size + 16, 4);
  append(out, content);
  return out;
}

Buffer BlpMetadata::build() const {
  const Buffer data = zlib ? deflated(text) : Buffer(text.begin(), text.end());
  Buffer out(magic.begin(), magic.end());
  put_little(out, 0, 1);
  put_little(out, static_cast<int>(checksum), 1);
  put_little(out, zlib ? 1 : 0, 1);
  put_little(out, 6, 1);
  const auto size = static_cast<std::int64_t>(text.size());
  put_little(out, claimed_size >= 0 ? claimed_size : size, 4);
  put_little(out, static_cast<std::int64_t>(data.size() + preallocated), 4);
  put_little(out, static_cast<std::int64_t>(data.size()), 4);
  put_little(out, 0, 8);
  append(out, data);
  out.resize(out.size() + preallocated);
  append(out, digest_of(checksum, data));
  return out;
}

std::size_t BlpFile::first_position() const {
  std::size_t position = 32;
  for (const BlpMetadata& section : metadata) position += section.build().size();
  const std::int64_t entries = offsets ? nchunks + max_app_chunks : 0;
  return position + static_cast<std::size_t>(entries) * 8;
}

std::size_t BlpFile::position(std::size_t chunk) const {
  std::size_t position = first_position();
  for (std::size_t i = 0; i < chunk; ++i) position += chunks[i].size() + digest_size(checksum);
  return position;
}

Buffer BlpFile::build() const {
  Buffer out = {'b', 'l', 'p', 'k', version};
  put_little(out, (offsets ? 1 : 0) | (metadata.empty() ? 0 : 2), 1);
  put_little(out, static_cast<int>(checksum), 1);
  put_little(out, typesize, 1);
  put_little(out, chunk_size, 4);
  put_little(out, last_chunk, 4);
  put_little(out, nchunks, 8);
  put_little(out, max_app_chunks, 8);
  for (const BlpMetadata& section : metadata) append(out, section.build());
  auto next = static_cast<std::int64_t>(first_position());
  for (std::int64_t i = 0; offsets && i < nchunks + max_app_chunks; ++i) {
    const auto n = static_cast<std::size_t>(i);
    const bool unknown =
        n >= chunks.size() ||
        std::find(unknown_offsets.begin(), unknown_offsets.end(), i) != unknown_offsets.end();
    put_little(out, unknown ? -1 : next, 8);
    if (n < chunks.size())
      next += static_cast<std::int64_t>(chunks[n].size() + digest_size(checksum));
  }
  for (const Buffer& chunk : chunks) {
    append(out, chunk);
    append(out, digest_of(checksum, chunk));
  }
  return out;
}

BlpFile simple_blp(const Buffer& content, std::int32_t chunk_size) {
  BlpFile file;
  const auto step = static_cast<std::size_t>(chunk_size);
  for (std::size_t at = 0; at < content.size(); at += step) {
    const auto begin = content.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t size = std::min(step, content.size() - at);
    file.chunks.push_back(
        make_blosc1_chunk(Buffer(begin, begin + static_cast<std::ptrdiff_t>(size))));
    file.last_chunk = static_cast<std::int32_t>(size);
  }
  file.chunk_size = chunk_size;
  file.nchunks = static_cast<std::int64_t>(file.chunks.size());
  file.max_app_chunks = 3;
  return file;
}

std::unique_ptr<Snapshot> open_blp(Buffer bytes, std::shared_ptr<MemorySource>* source) {
  auto memory = std::make_shared<MemorySource>(std::move(bytes));
  if (source != nullptr) *source = memory;
  return open_bloscpack(memory, {});
}

Buffer read_contents(const Snapshot& snapshot) {
  Buffer out(static_cast<std::size_t>(snapshot.info().nbytes));
  ContentReader(snapshot).read(0, out);
  return out;
}

}  // namespace bloscfs::frame::test
