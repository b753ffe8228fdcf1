#pragma once
// Writes containers for tests, from the formats' description and independent of the reader.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

enum class Stored { raw_streams, lz4 };

/// A chunk of unsplit, unfiltered blocks.
ByteVector encode_chunk(const ByteVector& contents, std::size_t typesize, std::size_t blocksize,
                        Stored how = Stored::lz4);
/// The same as a copy of its contents, without blocks.
ByteVector encode_copied_chunk(const ByteVector& contents, std::size_t typesize);
/// A chunk as C-Blosc 1 wrote it (16-byte header), copied.
ByteVector encode_blosc1_chunk(const ByteVector& contents, std::size_t typesize);
/// Blocks of runs: each of the block's streams, as many as `streams` has, repeats one byte. Items
/// have a byte of each stream (shuffle).
ByteVector encode_run_chunk(const ByteVector& streams, std::int64_t nbytes, std::int64_t blocksize);
/// A special chunk of one value, repeated.
ByteVector encode_repeated_chunk(const ByteVector& value, std::int64_t nbytes);
/// File position of block `block` of a chunk made by encode_chunk(), from the chunk's start, and
/// its stored size.
std::pair<std::size_t, std::size_t> block_extent(const ByteVector& chunk, std::size_t block);

inline constexpr std::int64_t kZeroChunk = static_cast<std::int64_t>(0x8100000000000000);

using Metalayers = std::vector<std::pair<std::string, ByteVector>>;

/// What a frame says of itself.
struct FramePlan {
  std::size_t typesize = 1;
  std::size_t chunksize = 0;
  std::size_t blocksize = 0;
  std::int64_t nbytes = 0;
  Metalayers metalayers;
  Metalayers vlmetalayers;
  bool has_encoded_vlmetalayers = false;  ///< their contents are chunks already
  bool sparse = false;                    ///< for chunks.b2frame: entries are file numbers
};

/// A frame around a finished chunk area. Entries count from its start; negative ones are special.
ByteVector encode_frame(const FramePlan& plan, const ByteVector& chunk_area,
                        const std::vector<std::int64_t>& entries);
/// The same around a finished index chunk; empty: no chunks.
ByteVector encode_frame_around(const FramePlan& plan, const ByteVector& chunk_area,
                               const ByteVector& index);
/// Bytes of the frame's header; the chunk area starts behind.
std::size_t header_size(const FramePlan& plan);

/// How contents are cut up.
struct Cut {
  std::size_t chunksize = 65536;
  std::size_t blocksize = 16384;
  std::size_t typesize = 1;
  Metalayers metalayers;
  Metalayers vlmetalayers;
};

/// A contiguous frame; all-zero chunks get special index entries.
ByteVector flat_frame(const ByteVector& contents, const Cut& cut = {});
ByteVector flat_frame(const std::string& contents, const Cut& cut = {});
/// A sparse frame in the new directory `path`.
void write_sparse_frame(const fs_std::path& path, const ByteVector& contents, const Cut& cut = {});

/// The b2nd metalayer of an array whose chunks and blocks are the whole array.
ByteVector b2nd_metalayer(const std::vector<std::int64_t>& shape, const std::string& dtype);
/// Cut for such an array of items of `typesize` bytes.
Cut array_cut(const std::vector<std::int64_t>& shape, const std::string& dtype,
              std::size_t typesize);
/// A contiguous frame that holds it.
ByteVector array_frame(const ByteVector& contents, const std::vector<std::int64_t>& shape,
                       const std::string& dtype, std::size_t typesize);

/// A contiguous frame of one chunk whose header and chunk name a codec that nobody has.
inline constexpr std::uint8_t kUnknownCodec = 254;
ByteVector with_unknown_codec(ByteVector frame);

/// A Bloscpack file without offsets and checksums; with NumPy metadata when `json` is not empty.
ByteVector bloscpack_file(const ByteVector& contents, std::size_t chunksize,
                          const std::string& json = {});

/// Bytes of a text.
ByteVector bytes_of(const std::string& text);

}  // namespace bloscfs::test
