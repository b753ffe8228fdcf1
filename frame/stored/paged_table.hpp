#pragma once
// A table of little-endian integers that is stored as one Blosc chunk, such as a frame's index or a
// list of checksums. It is read and decoded one block ("page") at a time.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "codec/block_decoder.hpp"
#include "frame/store/byte_source.hpp"
#include "frame/stored/stored_chunk.hpp"

namespace bloscfs::frame::inline stored {

/// Largest block of a table: 2^21 entries. Writers choose blocks of 16 KiB to a few MiB. A larger
/// claim is an attempt to exhaust the reader's memory: 8 stored bytes can stand for a run of 512
/// MiB.
inline constexpr std::int32_t kMaxTableBlock = std::int32_t{16} << 20;

struct TablePage {
  std::int64_t first = 0;  ///< number of its first entry
  std::vector<std::int64_t> entries;
  std::size_t memory() const { return sizeof(*this) + entries.capacity() * sizeof(std::int64_t); }
};

/// The opened header and block starts of a table's chunk. Keeps no file open. Immutable.
struct TableChunk {
  /// The arguments are those of PagedTable.
  TableChunk(const ByteSource& source, const StoredAt& at, int size_of_entry);

  bool is_virtual() const { return chunk.header().memcpyed || chunk.header().is_special(); }
  std::size_t memory() const { return sizeof(*this) + chunk.memory(); }

  std::uint64_t position;
  int entry_size;
  codec::Chunk chunk;
  std::int64_t entry_count = 0;
  std::int64_t entries_per_page = 0;
};

/// Immutable, so that any thread may use it.
class PagedTable {
 public:
  /// Opens the chunk at `at`. Its entries and its items have `entry_size` bytes: 2, 4 or 8. Entries
  /// of 2 and 4 bytes are unsigned. Throws Error.
  PagedTable(std::shared_ptr<const ByteSource> source, const StoredAt& at, int entry_size)
      : source_(std::move(source)),
        table_(std::make_shared<const TableChunk>(*source_, at, entry_size)) {}
  /// Uses a chunk that was opened before.
  PagedTable(std::shared_ptr<const ByteSource> source, std::shared_ptr<const TableChunk> table)
      : source_(std::move(source)), table_(std::move(table)) {}

  const std::shared_ptr<const TableChunk>& chunk() const { return table_; }
  std::int64_t entry_count() const { return table_->entry_count; }
  std::int64_t stored_size() const { return header().cbytes; }
  const codec::ChunkHeader& header() const { return table_->chunk.header(); }
  std::int64_t page_of(std::int64_t entry) const { return entry / table_->entries_per_page; }
  std::int64_t page_count() const;
  /// Returns an upper bound of the memory, in bytes, that reading a page takes. The static function
  /// estimates it from the header alone.
  static std::int64_t page_memory(const codec::ChunkHeader& header, int entry_size);
  std::int64_t page_memory() const;
  /// Throws Error if the page cannot be decoded or does not exist.
  TablePage read_page(std::int64_t page, codec::BlockDecoder& decoder) const;
  /// Returns the stored bytes of the block that holds exactly the entries [first, last); nullopt if
  /// no block does. The chunk must have block starts.
  std::optional<std::vector<std::uint8_t>> read_stored(std::int64_t first, std::int64_t last) const;
  /// Returns the common value of all entries if the chunk's header says that they are equal.
  std::optional<std::int64_t> uniform_entry() const;

 private:
  std::vector<std::uint8_t> read_bytes(std::int64_t page, std::int64_t size,
                                       codec::BlockDecoder& decoder) const;

  std::shared_ptr<const ByteSource> source_;
  std::shared_ptr<const TableChunk> table_;
};

}  // namespace bloscfs::frame::inline stored
