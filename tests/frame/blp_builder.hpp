#pragma once
// Builds Bloscpack files byte by byte. Their Blosc1 chunks store their contents uncompressed.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frame/bloscpack/digest.hpp"
#include "tests/frame/frame_builder.hpp"

namespace bloscfs::frame::test {

Buffer make_blosc1_chunk(const Buffer& content);

/// The parts of a metadata section. build() fills in the sizes and the digest.
struct BlpMetadata {
  std::string text;
  std::string magic = std::string("JSON\0\0\0\0", 8);
  DigestKind checksum = DigestKind::adler32;
  bool zlib = false;
  std::int64_t claimed_size = -1;  ///< meta-size; -1: the right one
  std::size_t preallocated = 7;    ///< bytes after the data
  Buffer build() const;
};

/// The parts of a file of version 2 or 3. build() lays them out as the format says.
struct BlpFile {
  std::uint8_t version = 3;
  bool offsets = true;
  DigestKind checksum = DigestKind::adler32;
  std::uint8_t typesize = 1;
  std::int32_t chunk_size = -1, last_chunk = -1;
  std::int64_t nchunks = -1, max_app_chunks = 0;
  std::vector<Buffer> chunks;
  std::vector<std::int64_t> unknown_offsets;  ///< chunks whose offset is stored as -1
  std::vector<BlpMetadata> metadata;          ///< none or one

  Buffer build() const;
  /// Returns the offset of a chunk in the file that build() returns.
  std::size_t position(std::size_t chunk) const;

 private:
  std::size_t first_position() const;
};

/// Makes a file of `content` in chunks, whose header has all optional fields.
BlpFile simple_blp(const Buffer& content, std::int32_t chunk_size);

/// `source` may be null.
std::unique_ptr<Snapshot> open_blp(Buffer bytes, std::shared_ptr<MemorySource>* source = nullptr);

/// Returns all contents.
Buffer read_contents(const Snapshot& snapshot);

}  // namespace bloscfs::frame::test
