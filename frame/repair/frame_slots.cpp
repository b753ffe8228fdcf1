// Planning: decides what is lost of the chunks that have slots, and which metalayers are lost.

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/core.h>

#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "codec/filter/filter_table.hpp"
#include "frame/container/checksum.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_header.hpp"
#include "frame/repair/chunk_order.hpp"
#include "frame/repair/frame_planner.hpp"

namespace bloscfs::frame::inline repair {
namespace {

/// Largest contents of a damaged chunk whose sound blocks are kept.
constexpr std::int32_t kMaxSalvaged = 512 << 20;
constexpr std::size_t kSumWindow = std::size_t{256} << 10;

bool is_missing(codec::CodecId id) {
  const codec::CodecRow* const row = codec::find_codec(id);
  return row == nullptr || row->make_decompressor == nullptr;
}

bool is_missing(codec::FilterId id) {
  const codec::FilterRow* const row = codec::find_filter(id);
  return id != codec::FilterId::none && (row == nullptr || row->undoing == nullptr);
}

/// True if the frame's header names every codec and filter that the chunk needs and this program
/// lacks. A damaged chunk header may name anything.
bool is_expected(const codec::ChunkHeader& chunk, const FrameInfo& info) {
  bool needs_any = is_missing(chunk.codec);
  if (needs_any && info.codec != chunk.codec) return false;
  for (const codec::FilterStep& step : chunk.filters) {
    if (!is_missing(step.id)) continue;
    needs_any = true;
    if (std::none_of(info.filters.begin(), info.filters.end(),
                     [&](const codec::FilterStep& other) { return other.id == step.id; }))
      return false;
  }
  return needs_any;
}

bool is_array_layer(const std::string& name) { return name == "b2nd" || name == "caterva"; }

}  // namespace

std::uint64_t ChecksumTable::sum_of(std::int64_t number) {
  const std::int64_t page = table_.page_of(number);
  if (page == bad_page_) return 0;
  if (!page_ || table_.page_of(page_->first) != page) {
    try {
      page_ = table_.read_page(page, decoder_);
    } catch (const codec::Error&) {
      bad_page_ = page;
      return 0;
    }
  }
  return static_cast<std::uint64_t>(
      page_->entries[static_cast<std::size_t>(number - page_->first)]);
}

/// Opens the checksums, if the trailer is certainly of the current state. A trailer right behind
/// the index is.
std::unique_ptr<ChecksumTable> FramePlanner::open_checksums() {
  const bool follows_index = index_ && !index_is_guess_ && trailer_.at == index_->end;
  if (trailer_.is_whole && follows_index) trailer_.is_sound = true;
  if (!trailer_.is_sound) return nullptr;
  for (const MetalayerEntry& layer : trailer_.layers) {
    if (layer.name != kChecksumLayerName) continue;
    try {
      return std::make_unique<ChecksumTable>(source_,
                                             StoredAt{layer.stored_offset, layer.stored_size});
    } catch (const codec::Error&) {
      return nullptr;
    }
  }
  return nullptr;
}

std::uint64_t FramePlanner::stored_sum(std::uint64_t at, std::int32_t cbytes) const {
  const auto place = chunks_->locate(at);
  if (!place || place->limit < static_cast<std::uint64_t>(cbytes)) return 0;
  Checksum sum;
  std::vector<std::uint8_t> window(std::min(kSumWindow, static_cast<std::size_t>(cbytes)));
  for (std::int64_t done = 0; done < cbytes;) {
    const auto size = std::min<std::int64_t>(cbytes - done, std::ssize(window));
    const MutableBytes part = MutableBytes(window).first(static_cast<std::size_t>(size));
    if (place->source->read_at(place->position + static_cast<std::uint64_t>(done), part) <
        part.size())
      return 0;
    sum.update(part);
    done += size;
  }
  return sum.digest();
}

/// Gives each slot its size, and drops chunks that have another size.
void FramePlanner::set_sizes() {
  if (sizes_.is_variable()) return set_variable_sizes();
  if (plan_.slots.empty()) return;
  Slot& last = plan_.slots.back();
  const std::int64_t count = count_slots(plan_.slots);
  std::int32_t last_nbytes = sizes_.chunksize;
  const bool is_stored = last.kind == SlotKind::stored;
  // A last chunk that decodes wholly proves its size. All chunks of an array are full.
  const bool is_unambiguous = is_stored && last.soundness == Soundness::whole &&
                              last.nbytes <= sizes_.chunksize && !sizes_.array;
  if (is_unambiguous || (!sizes_.nbytes && is_stored && last.nbytes < sizes_.chunksize))
    last_nbytes = last.nbytes;
  else if (sizes_.nbytes)
    last_nbytes = static_cast<std::int32_t>(*sizes_.nbytes - (count - 1) * sizes_.chunksize);
  if (last.count > 1 && last_nbytes != sizes_.chunksize) {
    Slot single = last;
    single.count = 1;
    --last.count;
    plan_.slots.push_back(single);
  }
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    Slot& slot = plan_.slots[i];
    const std::int32_t due = i + 1 == plan_.slots.size() ? last_nbytes : sizes_.chunksize;
    // NaNs have 4 or 8 bytes.
    const bool is_nan = slot.kind == SlotKind::special && slot.special == codec::SpecialValue::nan;
    if ((slot.kind == SlotKind::stored && slot.nbytes != due) ||
        (is_nan && sizes_.typesize != 4 && sizes_.typesize != 8))
      slot = Slot::make_missing(slot.count, false);
    slot.nbytes = due;
  }
  sizes_.nbytes = (count - 1) * sizes_.chunksize + last_nbytes;
}

/// If only one chunk has no size of its own, gives it the bytes that the others leave over.
void FramePlanner::set_variable_sizes() {
  std::int64_t known = 0, unknown = 0;
  for (Slot& slot : plan_.slots) {
    if (slot.kind == SlotKind::stored)
      known += slot.nbytes;
    else
      unknown += slot.count;
  }
  const std::int64_t rest = sizes_.nbytes.value_or(0) - known;
  const bool fits = unknown == 1 && rest > 0 && rest <= codec::kMaxChunkNbytes;
  for (Slot& slot : plan_.slots)
    if (slot.kind != SlotKind::stored && fits) slot.nbytes = static_cast<std::int32_t>(rest);
  if (unknown > 0 && !fits)
    doubt(fmt::format("{} chunks are left out, since nothing tells how large they were", unknown));
  sizes_.nbytes = known + (fits ? rest : 0);
}

/// True if the chunk decodes with the decided item size and block shape as it did in the search.
bool FramePlanner::is_readable(const Slot& slot) {
  const FoundChunk* const chunk = find_chunk(found_, slot.at);
  const bool is_read_alike =
      chunk != nullptr && chunk->typesize == stored_typesize(sizes_.typesize) &&
      (sizes_.typesize <= kMaxChunkTypesize || sizes_.typesize == header_.typesize) &&
      block_shape_ == block_shape_of(sizes_.array);
  if (is_read_alike) return true;
  const auto place = chunks_->locate(slot.at);
  if (!place) return false;
  ChunkProbe probe(effort_, sizes_.typesize, block_shape_of(sizes_.array));
  const ChunkFacts facts = probe.look(*place->source, place->position, place->limit, false);
  return facts.soundness == slot.soundness && facts.nbytes == slot.nbytes;
}

bool FramePlanner::needs_missing_decoder(const Slot& slot) {
  const auto place = chunks_->locate(slot.at);
  const auto opened =
      place ? probe_->open(*place->source, place->position, place->limit) : std::nullopt;
  return opened && is_expected(opened->chunk.header(), header_.defaults);
}

/// Decides what is lost of a slot, once all slots have their sizes.
void FramePlanner::judge(Slot& slot) {
  const std::int64_t number = number_;
  number_ += slot.count;
  if (slot.kind != SlotKind::stored) return;
  compare_checksum(slot, number);
  if (slot.kind != SlotKind::stored) return;
  // An undecodable chunk without a matching checksum is lost, unless the frame itself uses the
  // codec or filter that is missing. A damaged chunk header may name any codec.
  const bool is_strange =
      slot.soundness == Soundness::undecodable && !slot.is_proven && !needs_missing_decoder(slot);
  if (is_strange || !is_readable(slot)) {
    const std::int32_t nbytes = slot.nbytes;
    slot = Slot::make_missing(1, false);
    slot.nbytes = nbytes;
    return;
  }
  if (slot.soundness != Soundness::damaged) return;
  const auto lost = lost_.find(slot.at);
  std::int64_t size = 0;
  if (lost != lost_.end())
    for (const ByteRange& range : lost->second) size += range.size;
  // Blocks of variable size cannot be encoded anew, nor can a chunk that is too large for memory.
  const bool is_written = slot.nbytes <= kMaxSalvaged && !sizes_.vl_blocks;
  if (lost == lost_.end() || size >= slot.nbytes || !is_written) {
    const std::int32_t nbytes = slot.nbytes;
    slot = Slot::make_missing(1, false);
    slot.nbytes = nbytes;
    return;
  }
  plan_.lost_blocks[number] = lost->second;
}

/// Returns nullopt if no checksum is recorded. The digest of a Bloscpack file proves a chunk's
/// bytes, but not its place.
std::optional<bool> FramePlanner::checksum_agrees(const Slot& slot, std::int64_t number) {
  if (bloscpack_) return digest_agrees(*source_, bloscpack_->digest, slot.at, slot.cbytes);
  if (!checksums_ || number >= checksums_->count()) return std::nullopt;
  const std::uint64_t wanted = checksums_->sum_of(number);
  if (wanted == 0) return std::nullopt;
  return stored_sum(slot.at, slot.cbytes) == wanted;
}

void FramePlanner::compare_checksum(Slot& slot, std::int64_t number) {
  const auto agrees = checksum_agrees(slot, number);
  if (!agrees) return;
  slot.is_proven = *agrees;
  slot.is_doubtful = !slot.is_proven;
  // The checksum proves the chunk's number. If the sizes of the chunks in front are guesses, its
  // offset still is a guess.
  if (slot.is_proven && !bloscpack_ && !sizes_.is_guess) slot.is_guess = false;
  if (!slot.is_doubtful || !slot.is_guess || slot.soundness == Soundness::damaged) return;
  const std::int32_t nbytes = slot.nbytes;
  // Neither an order nor a checksum tells that the chunk belongs here.
  slot = Slot::make_missing(1, true);
  slot.nbytes = nbytes;
}

void FramePlanner::take_layers() {
  plan_.lost_metalayers = header_.lost_metalayers;
  for (Metalayer& layer : header_.metalayers) {
    if (is_array_layer(layer.name) && !sizes_.array)
      plan_.lost_metalayers.push_back(layer.name);
    else
      plan_.metalayers.push_back(std::move(layer));
  }
  plan_.lost_vlmetalayers = trailer_.lost_layers;
  const std::int64_t count = count_slots(plan_.slots);
  plan_.keeps_checksums = checksums_ && checksums_->count() == count;
  for (const MetalayerEntry& layer : trailer_.layers) {
    const bool are_checksums = layer.name == kChecksumLayerName;
    if (are_checksums && plan_.keeps_checksums) continue;
    const ChunkFacts facts = probe_->look(*source_, layer.stored_offset, layer.stored_size, true);
    if (are_checksums || facts.soundness != Soundness::whole ||
        facts.cbytes != static_cast<std::int64_t>(layer.stored_size))
      plan_.lost_vlmetalayers.push_back(layer.name);
    else
      plan_.vlmetalayers.push_back(layer);
  }
  if (!trailer_.is_sound && !trailer_.layers.empty())
    doubt("metalayers of the trailer may be those of an earlier state");
  if (trailer_.at == 0 && !bloscpack_ && !header_.is_early)
    doubt("the trailer is lost, and what metalayers it had");
  if (!header_.has_all_metalayers) doubt("metalayers of the header are lost");
  if (!header_.is_sound) plan_.notes.emplace_back("the header is damaged");
}

void FramePlanner::doubt(std::string note) {
  plan_.notes.push_back(std::move(note));
  plan_.may_be_incomplete = true;
}

void FramePlanner::finish() {
  plan_.notes.insert(plan_.notes.end(), sizes_.notes.begin(), sizes_.notes.end());
  take_layers();
  plan_.chunks = chunks_;
  plan_.layer_source = source_;
  FrameInfo& info = plan_.info;
  info = header_.defaults;
  info.kind = ContainerKind::cframe;
  info.typesize = sizes_.typesize;
  info.chunksize = sizes_.chunksize;
  info.blocksize = sizes_.blocksize;
  info.nbytes = sizes_.nbytes.value_or(0);
  info.nchunks = count_slots(plan_.slots);
  info.variable_chunks = sizes_.is_variable();
  info.vl_blocks = header_.vl_blocks || sizes_.vl_blocks;
  info.array = sizes_.array;
  info.block_shape = block_shape_of(sizes_.array);
  // Only the early layout can name Snappy as the codec of new chunks.
  if (info.codec == codec::CodecId::snappy) info.codec.reset();
  std::vector<std::uint64_t> used;
  bool has_special = false;
  for (const Slot& slot : plan_.slots) {
    if (slot.kind == SlotKind::stored) used.push_back(slot.at);
    has_special = has_special || slot.kind == SlotKind::special;
  }
  std::sort(used.begin(), used.end());
  plan_.unused_chunks = std::count_if(found_.begin(), found_.end(), [&](const FoundChunk& chunk) {
    return !std::binary_search(used.begin(), used.end(), chunk.at);
  });
  plan_.found_anything = !used.empty() || has_special || is_empty_frame();
}

}  // namespace bloscfs::frame::inline repair
