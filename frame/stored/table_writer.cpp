#include "frame/stored/table_writer.hpp"

#include <algorithm>
#include <cerrno>

#include <boost/endian/conversion.hpp>
#include <fmt/core.h>

#include "codec/bytes.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline stored {
namespace {

constexpr std::int32_t kEntrySize = 8;
constexpr std::int32_t kTableBlock = 16384;
/// Shorter tables are stored uncompressed.
constexpr std::int64_t kMinEncoded = 32;
/// Most bytes that a block takes in addition to its contents: its start and the size of its stream.
constexpr std::int64_t kBlockOverhead = 8;

codec::EncodeSettings table_settings() {
  codec::EncodeSettings settings;
  settings.codec = codec::CodecId::blosclz;
  settings.typesize = kEntrySize;
  settings.blocksize = kTableBlock;
  settings.split = codec::SplitMode::never;
  return settings;
}

[[noreturn]] void throw_too_large(std::int64_t count) {
  throw_errno(EFBIG, fmt::format("{} chunks", count));
}

std::int32_t table_bytes(std::int64_t count) {
  if (count > codec::kMaxChunkNbytes / kEntrySize) throw_too_large(count);
  return static_cast<std::int32_t>(count * kEntrySize);
}

void to_bytes(std::span<const std::int64_t> entries, std::vector<std::uint8_t>& out) {
  out.resize(entries.size() * kEntrySize);
  for (std::size_t i = 0; i < entries.size(); ++i)
    boost::endian::store_little_s64(out.data() + i * kEntrySize, entries[i]);
}

std::int64_t put_chunk(codec::ChunkHeader header, Bytes payload, StoreWriter& out) {
  header.cbytes = header.header_size + static_cast<std::int32_t>(payload.size());
  out.append(codec::serialize_chunk_header(header));
  out.append(payload);
  return header.cbytes;
}

/// True if a block of a chunk with header `a` is valid in a chunk with header `b`.
bool same_blocks(const codec::ChunkHeader& a, const codec::ChunkHeader& b) {
  return a.has_block_starts() && b.has_block_starts() && !a.vl_blocks && !b.vl_blocks &&
         !a.has_dictionary && !b.has_dictionary && a.version == b.version &&
         a.header_size == b.header_size && a.typesize == b.typesize && a.codec == b.codec &&
         a.filters == b.filters && a.dont_split == b.dont_split;
}

}  // namespace

codec::EncodeSettings index_settings() {
  codec::EncodeSettings settings = table_settings();
  settings.clevel = 5;
  settings.filters.back().id = codec::FilterId::shuffle;
  return settings;
}

codec::EncodeSettings plain_settings() {
  codec::EncodeSettings settings = table_settings();
  settings.clevel = 0;
  return settings;
}

EditedTable::EditedTable(std::shared_ptr<const PagedTable> old, std::int64_t kept,
                         std::int64_t count, std::int64_t fill, const Changes& changes,
                         codec::BlockDecoder& decoder)
    : old_(std::move(old)),
      kept_(old_ ? std::min({kept, old_->entry_count(), count}) : 0),
      count_(count),
      fill_(fill),
      changes_(changes),
      decoder_(decoder) {}

std::optional<std::int64_t> EditedTable::uniform_entry() const {
  const auto kept_end = changes_.lower_bound(kept_);
  const auto kept_changes = std::distance(changes_.begin(), kept_end);
  const auto new_changes = std::distance(kept_end, changes_.end());
  std::optional<std::int64_t> value;
  const auto agrees = [&](std::optional<std::int64_t> entry) {
    if (!value) value = entry;
    return entry && *entry == *value;
  };
  for (const auto& change : changes_)
    if (!agrees(change.second)) return std::nullopt;
  if (new_changes < count_ - kept_ && !agrees(fill_)) return std::nullopt;
  if (kept_changes < kept_ && !agrees(old_->uniform_entry())) return std::nullopt;
  return value;
}

void EditedTable::read(std::int64_t first, std::span<std::int64_t> out) {
  const std::int64_t last = first + std::ssize(out);
  std::fill(out.begin(), out.end(), fill_);
  for (std::int64_t at = first; at < std::min(last, kept_);) {
    const TablePage page = old_->read_page(old_->page_of(at), decoder_);
    const std::int64_t end = std::min({last, kept_, page.first + std::ssize(page.entries)});
    std::copy(page.entries.begin() + (at - page.first), page.entries.begin() + (end - page.first),
              out.begin() + (at - first));
    at = end;
  }
  for (auto i = changes_.lower_bound(first); i != changes_.end() && i->first < last; ++i)
    out[static_cast<std::size_t>(i->first - first)] = i->second;
}

std::optional<std::vector<std::uint8_t>> EditedTable::stored_block(const codec::ChunkHeader& header,
                                                                   std::int64_t first,
                                                                   std::int64_t last) {
  if (last > kept_ || !same_blocks(header, old_->header())) return std::nullopt;
  const auto change = changes_.lower_bound(first);
  if (change != changes_.end() && change->first < last) return std::nullopt;
  return old_->read_stored(first, last);
}

TableWriter::TableWriter(const codec::EncodeSettings& settings)
    : settings_(settings), encoder_(settings.clevel) {}

std::int64_t TableWriter::max_stored_size(std::int64_t count) {
  const std::int64_t nbytes = table_bytes(count);
  return codec::kExtendedHeaderSize + nbytes +
         kBlockOverhead * codec::ceil_div<std::int64_t>(nbytes, kTableBlock);
}

std::int64_t TableWriter::write(TableContent& table, StoreFile* file, std::uint64_t position) {
  StoreWriter out(file, position);
  const std::int64_t size = write(table, out);
  out.flush();
  return size;
}

std::int64_t TableWriter::write(TableContent& table, StoreWriter& out) {
  codec::ChunkHeader header = codec::plan_chunk(settings_, table_bytes(table.count()));
  if (header.nbytes < kMinEncoded) {
    std::vector<std::int64_t> entries(static_cast<std::size_t>(table.count()));
    table.read(0, entries);
    to_bytes(entries, plain_);
    header.memcpyed = true;
    header.filters = {};
    // Sets the same value as ChunkEncoder does. find_reserve() recognises the trailer of an empty
    // frame by its exact bytes.
    header.dont_split = false;
    return put_chunk(header, plain_, out);
  }
  if (const auto entry = table.uniform_entry()) {
    to_bytes({&*entry, 1}, plain_);
    header.special = codec::SpecialValue::value;
    header.filters = {};
    return put_chunk(header, plain_, out);
  }
  return write_blocks(table, header, out);
}

Bytes TableWriter::encode_block(const codec::ChunkHeader& header,
                                std::span<const std::int64_t> entries) {
  to_bytes(entries, plain_);
  // Equal blocks often follow each other, and are encoded once.
  if (plain_ == last_plain_) return stored_;
  stored_.resize(plain_.size() + kBlockOverhead);
  const Bytes filtered = encoder_.filter(header, false, {}, plain_);
  stored_.resize(encoder_.write_streams(header, filtered, {}, stored_));
  last_plain_ = plain_;
  return stored_;
}

std::int64_t TableWriter::write_blocks(TableContent& table, codec::ChunkHeader header,
                                       StoreWriter& out) {
  const auto blocks = static_cast<std::size_t>(header.block_count);
  const std::int64_t per_block = header.blocksize / kEntrySize;
  std::vector<std::uint8_t> head(codec::kChunkHeaderBytes + 4 * blocks);
  const std::uint64_t position = out.position();
  out.append(head);  // replaced once all blocks are written
  std::vector<std::int64_t> entries;
  last_plain_.clear();
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto start = static_cast<std::uint32_t>(out.position() - position);
    boost::endian::store_little_u32(head.data() + codec::kChunkHeaderBytes + 4 * block, start);
    const std::int64_t first = static_cast<std::int64_t>(block) * per_block;
    const std::int64_t last = std::min(table.count(), first + per_block);
    if (const auto stored = table.stored_block(header, first, last)) {
      out.append(*stored);
      continue;
    }
    entries.resize(static_cast<std::size_t>(last - first));
    table.read(first, entries);
    out.append(encode_block(header, entries));
  }
  if (out.position() - position > std::uint64_t{INT32_MAX}) throw_too_large(table.count());
  header.cbytes = static_cast<std::int32_t>(out.position() - position);
  const auto raw = codec::serialize_chunk_header(header);
  std::copy(raw.begin(), raw.end(), head.begin());
  out.replace(position, head);
  return header.cbytes;
}

}  // namespace bloscfs::frame::inline stored
