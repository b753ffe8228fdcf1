#pragma once
// Writes containers for tests. It follows the format documents and shares no code with the readers
// under test.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

enum class Stored { raw_streams, lz4 };

/// Encodes a chunk of unsplit, unfiltered blocks.
ByteVector encode_chunk(const ByteVector& contents, std::size_t typesize, std::size_t blocksize,
                        Stored how = Stored::lz4);
/// Encodes a chunk that holds a plain copy of `contents`, without blocks.
ByteVector encode_copied_chunk(const ByteVector& contents, std::size_t typesize);
/// Encodes a chunk as C-Blosc 1 wrote it (16-byte header), with a plain copy of `contents`.
ByteVector encode_blosc1_chunk(const ByteVector& contents, std::size_t typesize);
/// Encodes a chunk whose blocks consist of runs: stream i of each block repeats the byte
/// `streams[i]`. The typesize is the number of streams. If there are several, each item has one
/// byte of each stream (shuffle).
ByteVector encode_run_chunk(const ByteVector& streams, std::int64_t nbytes, std::int64_t blocksize);
/// Encodes a special chunk that repeats `value`.
ByteVector encode_repeated_chunk(const ByteVector& value, std::int64_t nbytes);
/// Returns the offset of a block from the chunk's start, and the block's stored size. The chunk
/// must come from encode_chunk().
std::pair<std::size_t, std::size_t> block_extent(const ByteVector& chunk, std::size_t block);

inline constexpr std::int64_t kZeroChunk = static_cast<std::int64_t>(0x8100000000000000);

using Metalayers = std::vector<std::pair<std::string, ByteVector>>;

/// The fields of a frame's header and trailer.
struct FramePlan {
  std::size_t typesize = 1;
  std::size_t chunksize = 0;
  std::size_t blocksize = 0;
  std::int64_t nbytes = 0;
  Metalayers metalayers;
  Metalayers vlmetalayers;
  bool has_encoded_vlmetalayers = false;  ///< the contents of `vlmetalayers` are encoded chunks
  bool sparse = false;                    ///< for chunks.b2frame: entries are file numbers
};

/// Encodes a frame around the finished `chunk_area`. `entries` are offsets from the start of the
/// area; a negative entry stands for a special chunk.
ByteVector encode_frame(const FramePlan& plan, const ByteVector& chunk_area,
                        const std::vector<std::int64_t>& entries);
/// Encodes a frame around a finished chunk area and a finished index chunk. `index` is empty if the
/// frame has no chunks.
ByteVector encode_frame_around(const FramePlan& plan, const ByteVector& chunk_area,
                               const ByteVector& index);
/// Returns the size of the frame's header in bytes. The chunk area follows the header.
std::size_t header_size(const FramePlan& plan);

/// How contents are divided into chunks and blocks, and the metalayers of the frame.
struct Cut {
  std::size_t chunksize = 65536;
  std::size_t blocksize = 16384;
  std::size_t typesize = 1;
  Metalayers metalayers;
  Metalayers vlmetalayers;
};

/// Encodes a contiguous frame. All-zero chunks get special index entries.
ByteVector flat_frame(const ByteVector& contents, const Cut& cut = {});
ByteVector flat_frame(const std::string& contents, const Cut& cut = {});
/// Writes a sparse frame into the new directory `path`.
void write_sparse_frame(const fs_std::path& path, const ByteVector& contents, const Cut& cut = {});

/// Encodes the b2nd metalayer of an array whose only chunk and block is the whole array.
ByteVector b2nd_metalayer(const std::vector<std::int64_t>& shape, const std::string& dtype);
/// Returns the cut for an array of one chunk and one block, with items of `typesize` bytes.
Cut array_cut(const std::vector<std::int64_t>& shape, const std::string& dtype,
              std::size_t typesize);
/// Encodes a contiguous frame that holds an array of one chunk and one block.
ByteVector array_frame(const ByteVector& contents, const std::vector<std::int64_t>& shape,
                       const std::string& dtype, std::size_t typesize);

/// A codec number that no implementation knows.
inline constexpr std::uint8_t kUnknownCodec = 254;
/// Returns the contiguous frame with kUnknownCodec as the codec of its header and first chunk.
ByteVector with_unknown_codec(ByteVector frame);

/// Encodes a Bloscpack file without offsets and checksums. If `json` is not empty, the file has it
/// as NumPy metadata.
ByteVector bloscpack_file(const ByteVector& contents, std::size_t chunksize,
                          const std::string& json = {});

ByteVector bytes_of(const std::string& text);

}  // namespace bloscfs::test
