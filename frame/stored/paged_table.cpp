#include "frame/stored/paged_table.hpp"

#include <algorithm>

#include <boost/endian/conversion.hpp>
#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::frame::inline stored {
namespace {

using codec::throw_malformed;

/// Entries of a page if the chunk has no stored blocks.
constexpr std::int64_t kVirtualPage = 2048;
/// Memory bound of the opened table: enough for the largest index in blocks of 8 KiB.
constexpr std::size_t kMaxTableMemory = std::size_t{2} << 20;
/// With this size one read covers the block starts of a million entries in blocks of 16 KiB.
constexpr std::size_t kFirstRead = 2048;

std::int64_t load_entry(const std::uint8_t* bytes, int entry_size) {
  switch (entry_size) {
    case 2:
      return boost::endian::load_little_u16(bytes);
    case 4:
      return boost::endian::load_little_u32(bytes);
    default:
      return boost::endian::load_little_s64(bytes);
  }
}

}  // namespace

TableChunk::TableChunk(const ByteSource& source, const StoredAt& at, int size_of_entry)
    : position(at.position),
      entry_size(size_of_entry),
      chunk(open_stored_chunk(source, at,
                              {.first_read = kFirstRead, .max_memory = kMaxTableMemory})) {
  const codec::ChunkHeader& header = chunk.header();
  if (header.typesize != entry_size || header.nbytes % entry_size != 0 || header.vl_blocks)
    throw_malformed(fmt::format("table chunk at {}: {} bytes in items of {}, entries have {}",
                                position, header.nbytes, header.typesize, entry_size));
  if (!is_virtual() && header.blocksize > kMaxTableBlock)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("table chunk at {}: a block of {} bytes > {}", position,
                                   header.blocksize, kMaxTableBlock));
  if (!is_virtual() && header.blocksize % entry_size != 0 && header.block_count > 1)
    throw_malformed(fmt::format("table chunk at {}: blocks of {} bytes for entries of {}", position,
                                header.blocksize, entry_size));
  entry_count = header.nbytes / entry_size;
  entries_per_page = is_virtual() ? kVirtualPage : std::max(1, header.blocksize / entry_size);
}

std::int64_t PagedTable::page_count() const {
  return codec::ceil_div(table_->entry_count, table_->entries_per_page);
}

std::int64_t PagedTable::page_memory(const codec::ChunkHeader& header, int entry_size) {
  // The block, its stored bytes, scratch memory of the filters, and the reference block.
  constexpr std::int64_t kBlocks = 4;
  const std::int64_t block =
      header.has_block_starts() ? header.blocksize : kVirtualPage * std::int64_t{entry_size};
  return kBlocks * block + block / entry_size * std::int64_t{sizeof(std::int64_t)};
}

std::int64_t PagedTable::page_memory() const {
  const std::int64_t count = std::min(table_->entry_count, table_->entries_per_page);
  const std::int64_t bytes =
      table_->is_virtual() ? count * table_->entry_size : table_->chunk.decode_memory();
  return bytes + count * std::int64_t{sizeof(std::int64_t)} +
         static_cast<std::int64_t>(sizeof(TablePage));
}

std::vector<std::uint8_t> PagedTable::read_bytes(std::int64_t page, std::int64_t size,
                                                 codec::BlockDecoder& decoder) const {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  const std::int64_t offset = page * table_->entries_per_page * table_->entry_size;
  if (table_->chunk.header().is_special())
    table_->chunk.fill_special(offset, bytes);
  else if (table_->chunk.header().memcpyed)
    source_->read_exactly_at(
        table_->position + static_cast<std::uint64_t>(table_->chunk.header().header_size + offset),
        bytes, "table chunk");
  else
    decode_stored_block(*source_, table_->position, table_->chunk, static_cast<std::int32_t>(page),
                        decoder, bytes);
  return bytes;
}

TablePage PagedTable::read_page(std::int64_t page, codec::BlockDecoder& decoder) const {
  if (page < 0 || page >= page_count())
    throw_malformed(
        fmt::format("table chunk at {}: page {} of {}", table_->position, page, page_count()));
  TablePage result;
  result.first = page * table_->entries_per_page;
  const std::int64_t count = std::min(table_->entries_per_page, table_->entry_count - result.first);
  const std::vector<std::uint8_t> bytes = read_bytes(page, count * table_->entry_size, decoder);
  const auto size = static_cast<std::size_t>(table_->entry_size);
  result.entries.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.entries.size(); i++)
    result.entries[i] = load_entry(bytes.data() + i * size, table_->entry_size);
  return result;
}

std::optional<std::vector<std::uint8_t>> PagedTable::read_stored(std::int64_t first,
                                                                 std::int64_t last) const {
  const std::int64_t page = page_of(first);
  if (first != page * table_->entries_per_page ||
      last != std::min(first + table_->entries_per_page, table_->entry_count))
    return std::nullopt;
  const codec::ByteRange range = table_->chunk.block_stored(static_cast<std::int32_t>(page));
  std::vector<std::uint8_t> stored(static_cast<std::size_t>(range.size));
  source_->read_exactly_at(table_->position + static_cast<std::uint64_t>(range.offset), stored,
                           "table block");
  return stored;
}

std::optional<std::int64_t> PagedTable::uniform_entry() const {
  // If the size of a repeated value does not divide that of an entry, the entries differ.
  const bool repeats_entry =
      table_->chunk.header().special != codec::SpecialValue::value ||
      table_->entry_size % std::max(1, table_->chunk.header().value_size) == 0;
  if (!table_->chunk.header().is_special() || !repeats_entry || table_->entry_count == 0)
    return std::nullopt;
  std::uint8_t bytes[8] = {};
  table_->chunk.fill_special(0, MutableBytes(bytes, static_cast<std::size_t>(table_->entry_size)));
  return load_entry(bytes, table_->entry_size);
}

}  // namespace bloscfs::frame::inline stored
