#pragma once
// Builds frames byte by byte, and reads them through a snapshot. The streams of their chunks are
// stored uncompressed. Does not use the product's writing code, so that tests can damage any part.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/sframe/sframe.hpp"

namespace bloscfs::frame::test {

using Buffer = std::vector<std::uint8_t>;

/// A source in memory that records which parts of it were read.
class MemorySource final : public ByteSource {
 public:
  struct Read {
    std::uint64_t offset;
    std::size_t size;
  };
  explicit MemorySource(Buffer content, std::uint64_t inode = 1)
      : bytes(std::move(content)),
        file_stamp{1, inode, static_cast<std::int64_t>(bytes.size()), 0} {}
  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  FileStamp stamp() const override { return file_stamp; }
  std::uint64_t bytes_read() const;

  Buffer bytes;
  FileStamp file_stamp;
  mutable std::vector<Read> reads;
};

inline void append(Buffer& out, const Buffer& more) {
  out.insert(out.end(), more.begin(), more.end());
}

/// Makes numbered bytes that differ in each chunk.
Buffer pattern(std::size_t size, unsigned seed);

Buffer make_memcpy_chunk(const Buffer& content, int typesize);
/// Makes a chunk of blocks without filters, whose streams are uncompressed.
Buffer make_block_chunk(const Buffer& content, int typesize, int blocksize);
/// Makes a chunk of `nbytes` that repeats one value.
Buffer make_value_chunk(const Buffer& value, std::int32_t nbytes);
Buffer make_vl_chunk(const std::vector<Buffer>& blocks);
/// Makes an index of little-endian entries in shuffled blocks of 16 KiB. A plane of equal bytes
/// takes 5 bytes.
Buffer make_index_chunk(const std::vector<std::int64_t>& entries);

constexpr std::int64_t special_entry(std::uint8_t top) {
  return static_cast<std::int64_t>(std::uint64_t{top} << 56);
}

void put_big(Buffer& out, std::uint64_t value, int bytes);

/// The parts of a frame. build() lays them out as the format says.
struct FrameBuilder {
  std::int32_t typesize = 1;
  std::int32_t blocksize = 0;
  std::int32_t chunksize = -1;
  std::int64_t nbytes = 0;
  std::uint8_t general_flags = 0x12;
  std::uint8_t frame_type = 0;
  std::vector<std::pair<std::string, Buffer>> metalayers;
  std::vector<std::pair<std::string, Buffer>> vlmetalayers;  ///< contents are chunks
  std::vector<std::int64_t> entries;
  Buffer chunk_area;
  Buffer index_chunk;     ///< made from the entries if empty
  std::size_t slack = 0;  ///< bytes between index and trailer

  /// Appends a stored chunk whose contents have `content_size` bytes.
  void add(const Buffer& chunk, std::size_t content_size);
  Buffer header() const;
  Buffer trailer() const;
  Buffer build() const;

 private:
  Buffer index() const;
};

/// Makes a frame of fixed-size chunks with `content`, each in blocks.
FrameBuilder simple_frame(const Buffer& content, std::int32_t chunksize, std::int32_t blocksize);

/// Makes a frame in the early layout, with offsets of `width` bytes.
Buffer early_frame(const Buffer& content, std::int32_t chunksize, int width,
                   const Buffer& usermeta_chunk, const Buffer& metalayer);

/// The files of a sparse frame, in memory.
class MemoryFiles final : public SframeFiles {
 public:
  explicit MemoryFiles(Buffer index) : index_source(std::make_shared<MemorySource>(index)) {}
  std::shared_ptr<const ByteSource> index() const override { return index_source; }
  std::shared_ptr<const ByteSource> open_chunk(std::uint32_t number) const override;
  std::optional<FileStamp> index_stamp() const override { return named_stamp; }
  std::shared_ptr<PeerLock> lock() const override { return nullptr; }

  std::shared_ptr<MemorySource> index_source;
  std::optional<FileStamp> named_stamp = index_source->file_stamp;
  std::map<std::uint32_t, std::shared_ptr<MemorySource>> chunks;
};

/// Reads contents as the mount does: page, chunk, block. Keeps the last one of each.
class ContentReader {
 public:
  explicit ContentReader(const Snapshot& snapshot);
  void read(std::int64_t offset, MutableBytes out);
  /// Reads bytes of the array in C order.
  void read_array(std::int64_t offset, MutableBytes out);
  std::int64_t size() const;  ///< of the array, or of the contents
  Buffer read_all();          ///< the array if the frame has one, else the contents

 private:
  const OpenedChunk& open(std::int64_t chunk);
  const Buffer& block(std::int32_t number);
  Buffer decode(std::int32_t number, const Buffer& reference);

  const Snapshot& snapshot_;
  codec::BlockDecoder decoder_;
  std::unique_ptr<const ChunkMap> map_;
  std::unique_ptr<const IndexPage> page_;
  std::unique_ptr<OpenedChunk> chunk_;
  std::int32_t block_number_ = -1;
  Buffer block_;
};

Buffer read_all(const Snapshot& snapshot);

/// Opens a frame in memory. `source` may be null.
std::unique_ptr<Snapshot> open_bytes(Buffer content,
                                     std::shared_ptr<MemorySource>* source = nullptr);

/// Returns the recorded checksum of a chunk's stored bytes; nullopt if the frame records none.
std::optional<std::uint64_t> recorded_checksum(const Snapshot& snapshot, std::int64_t chunk,
                                               codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::test
