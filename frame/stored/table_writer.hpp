#pragma once
// Writes tables of 64-bit integers as one Blosc chunk, in bounded memory: the counterpart of
// PagedTable. Blocks that have not changed are copied as they are stored.

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

/// The entries of a table that is to be written.
class TableContent {
 public:
  virtual ~TableContent() = default;
  virtual std::int64_t count() const = 0;
  /// The one value of all entries, where that is known without reading them.
  virtual std::optional<std::int64_t> uniform_entry() const { return std::nullopt; }
  /// Entries [first, first + out.size()).
  virtual void read(std::int64_t first, std::span<std::int64_t> out) = 0;
  /// The stored bytes of entries [first, last) as one block of a chunk with such a header, if they
  /// are to be had without encoding; else nothing.
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
  using Changes = std::map<std::int64_t, std::int64_t>;  ///< number to entry

  /// Of `old` (null: none) the first `kept` entries stay; then `fill` repeats up to `count`;
  /// `changes` come on top. References are borrowed.
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

/// How index chunks are encoded: as C-Blosc2 does.
codec::EncodeSettings index_settings();
/// For entries that don't compress, so that a table's stored size is quickly known.
codec::EncodeSettings plain_settings();

class TableWriter {
 public:
  explicit TableWriter(const codec::EncodeSettings& settings);

  /// Most stored bytes of a table. Throws std::system_error(EFBIG) for more entries than a chunk
  /// can hold.
  static std::int64_t max_stored_size(std::int64_t count);
  /// Appends the chunk, and returns its stored size. The table has at least one entry.
  std::int64_t write(TableContent& table, StoreWriter& out);
  /// The same at a `position` of its own. Without a file, measures only.
  std::int64_t write(TableContent& table, StoreFile* file, std::uint64_t position);

 private:
  std::int64_t write_blocks(TableContent& table, codec::ChunkHeader header, StoreWriter& out);
  Bytes encode_block(const codec::ChunkHeader& header, std::span<const std::int64_t> entries);

  codec::EncodeSettings settings_;
  codec::BlockEncoder encoder_;
  std::vector<std::uint8_t> plain_, last_plain_;  ///< entries as bytes: of a block, of the last one
  std::vector<std::uint8_t> stored_;              ///< what the last one was encoded to
};

}  // namespace bloscfs::frame::inline stored
