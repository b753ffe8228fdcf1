#pragma once
// Writes tables of 64-bit integers as one Blosc chunk, in bounded memory. PagedTable reads them.
// The writer copies the stored bytes of blocks that have not changed.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/block_decoder.hpp"
#include "codec/block_encoder.hpp"
#include "codec/encode_settings.hpp"
#include "frame/store/byte_store.hpp"
#include "frame/store/store_writer.hpp"
#include "frame/stored/paged_table.hpp"

namespace bloscfs::frame::inline stored {

/// The entries of a table to be written.
class TableContent {
 public:
  virtual ~TableContent() = default;
  virtual std::int64_t count() const = 0;
  /// Returns the common value of all entries, if it is known without reading them.
  virtual std::optional<std::int64_t> uniform_entry() const { return std::nullopt; }
  /// Reads the entries [first, first + out.size()).
  virtual void read(std::int64_t first, std::span<std::int64_t> out) = 0;
  /// Returns the stored bytes of entries [first, last) as one block of a chunk with this header.
  /// Returns nullopt if they would have to be encoded.
  virtual std::optional<std::vector<std::uint8_t>> stored_block(const codec::ChunkHeader&,
                                                                std::int64_t first,
                                                                std::int64_t last) {
    static_cast<void>(first), static_cast<void>(last);
    return std::nullopt;
  }
};

/// An older table with some entries changed.
class EditedTable final : public TableContent {
 public:
  using Changes = std::map<std::int64_t, std::int64_t>;  ///< entry number to value

  /// Keeps the first `kept` entries of `old` (null: none), repeats `fill` up to `count`, and
  /// applies `changes` last. The references are borrowed.
  EditedTable(std::shared_ptr<const PagedTable> old, std::int64_t kept, std::int64_t count,
              std::int64_t fill, const Changes& changes, codec::BlockDecoder& decoder);

  std::int64_t count() const override { return count_; }
  std::optional<std::int64_t> uniform_entry() const override;
  void read(std::int64_t first, std::span<std::int64_t> out) override;
  std::optional<std::vector<std::uint8_t>> stored_block(const codec::ChunkHeader& header,
                                                        std::int64_t first,
                                                        std::int64_t last) override;

 private:
  std::shared_ptr<const PagedTable> old_;
  std::int64_t kept_, count_, fill_;
  const Changes& changes_;
  codec::BlockDecoder& decoder_;
};

/// Returns the settings for index chunks. C-Blosc2 uses the same ones.
codec::EncodeSettings index_settings();
/// Returns settings that store table entries uncompressed. Their stored size is then quickly
/// computed.
codec::EncodeSettings plain_settings();

class TableWriter {
 public:
  explicit TableWriter(const codec::EncodeSettings& settings);

  /// Returns an upper bound of the stored bytes of a table. Throws std::system_error(EFBIG) for
  /// more entries than a chunk can hold.
  static std::int64_t max_stored_size(std::int64_t count);
  /// Appends the chunk and returns its stored size. The table has at least one entry.
  std::int64_t write(TableContent& table, StoreWriter& out);
  /// Writes the chunk at `position` of `file`. A null `file` only measures the size.
  std::int64_t write(TableContent& table, StoreFile* file, std::uint64_t position);

 private:
  std::int64_t write_blocks(TableContent& table, codec::ChunkHeader header, StoreWriter& out);
  Bytes encode_block(const codec::ChunkHeader& header, std::span<const std::int64_t> entries);

  codec::EncodeSettings settings_;
  codec::BlockEncoder encoder_;
  std::vector<std::uint8_t> plain_, last_plain_;  ///< bytes of the current, the previous block
  std::vector<std::uint8_t> stored_;              ///< encoded bytes of the previous block
};

}  // namespace bloscfs::frame::inline stored
