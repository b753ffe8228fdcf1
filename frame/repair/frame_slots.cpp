// The second half of planning: chunks in their places, and what is lost of them.

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

namespace bloscfs::frame {
namespace {

/// Contents of a chunk of which some blocks are taken.
constexpr std::int32_t kMaxSalvaged = 512 << 20;
constexpr std::size_t kSumWindow = std::size_t{256} << 10;

/// True if chunks of such a frame cannot be decoded here.
bool needs_missing_decoder(const FrameInfo& info) {
  const codec::CodecRow* const codec = info.codec ? codec::find_codec(*info.codec) : nullptr;
  if (info.codec && (codec == nullptr || codec->make_decompressor == nullptr)) return true;
  return std::any_of(info.filters.begin(), info.filters.end(), [](const codec::FilterStep& step) {
    const codec::FilterRow* const row = codec::find_filter(step.id);
    return step.id != codec::FilterId::none && (row == nullptr || row->undoing == nullptr);
  });
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

/// Those that are surely of the state that the frame is in.
std::unique_ptr<ChecksumTable> FramePlanner::open_checksums() {
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

/// Chunks of the frame, by its sizes; -1: not known.
std::int64_t FramePlanner::known_count() const {
  if (sizes_.nbytes && *sizes_.nbytes == 0) return 0;
  if (sizes_.chunksize > 0 && sizes_.nbytes) return count_chunks(*sizes_.nbytes, sizes_.chunksize);
  return -1;
}

/// Slots as index or checksums have them; none where neither is left.
void FramePlanner::take_order() {
  if (index_) {
    plan_.slots = order_by_index(*index_, base_.value_or(0), found_);
    return;
  }
  plan_.order = Order::places;
  if (!checksums_) return;
  plan_.slots = order_by_checksum(
      found_, checksums_->count(),
      [&](const FoundChunk& chunk) { return stored_sum(chunk.at, chunk.cbytes); },
      [&](std::int64_t number) { return checksums_->sum_of(number); });
  const bool names_any = std::any_of(plan_.slots.begin(), plan_.slots.end(), [](const Slot& slot) {
    return slot.kind == SlotKind::stored;
  });
  if (names_any)
    plan_.order = Order::checksums;
  else
    plan_.slots.clear();
}

/// What else was found may be of earlier states.
SizeEvidence FramePlanner::gather_evidence() const {
  if (plan_.slots.empty() || index_is_guess_) return {found_, {}, {}};
  SizeEvidence evidence;
  evidence.count = count_slots(plan_.slots);
  // Of special chunks alone nothing but the header tells how many they are.
  if (index_ && index_->runs.size() == 1 && plan_.slots.front().kind == SlotKind::special &&
      header_.is_sound)
    evidence.count.reset();
  for (const Slot& slot : plan_.slots) {
    const FoundChunk* const chunk =
        slot.kind == SlotKind::stored ? find_chunk(found_, slot.at) : nullptr;
    if (chunk == nullptr) continue;
    if (&slot == &plan_.slots.back())
      evidence.last = *chunk;
    else
      evidence.chunks.push_back(*chunk);
  }
  return evidence;
}

void FramePlanner::order_chunks() {
  const std::int64_t count = known_count();
  if (count == 0) return plan_.slots.clear();
  if (sizes_.chunksize < 0) {
    plan_.slots.clear();
    return doubt("nothing tells how large chunks were");
  }
  if (!index_) {
    if (plan_.order != Order::checksums) order_by_places();
  } else {
    distrust_index();
    if (count >= 0 && plan_.slots.size() == 1 && plan_.slots.front().kind == SlotKind::special)
      plan_.slots.front().count = count;
    if (count >= 0) resize_slots(plan_.slots, count);
    if (count < 0 && index_is_guess_) {
      const auto newer = std::count_if(found_.begin(), found_.end(), [&](const FoundChunk& chunk) {
        return !numbers_ && chunk.at > index_->at;
      });
      resize_slots(plan_.slots, index_->count + newer);
    }
    fill_gaps(plan_.slots, found_);
  }
  if (sizes_.is_guess)
    doubt("header and chunks contradict each other: where chunks begin is a guess");
  if (index_is_guess_ || sizes_.is_guess)
    for (Slot& slot : plan_.slots) slot.is_guess = true;
  if (!index_) return;
  const bool guesses = std::any_of(plan_.slots.begin(), plan_.slots.end(),
                                   [](const Slot& slot) { return slot.is_guess; });
  if (guesses || !index_->is_whole()) plan_.order = Order::index_in_part;
}

/// An index whose bytes were changed and that decodes all the same names chunks twice.
void FramePlanner::distrust_index() {
  if (!repeats_) return;
  const auto unnamed = std::count_if(found_.begin(), found_.end(), [&](const FoundChunk& chunk) {
    return !is_named(chunk.at) && chunk.nbytes == sizes_.chunksize;
  });
  if (unnamed == 0 || !distrust_repetitions(plan_.slots)) return;
  plan_.order = Order::index_in_part;
  plan_.notes.emplace_back("the index names chunks twice, which was not believed");
}

/// What earlier states have left is indexes and trailers, one behind the other.
std::uint64_t FramePlanner::unexplained(std::uint64_t begin, std::uint64_t end) const {
  while (begin < end) {
    const FoundChunk* const table = find_chunk(tables_, begin);
    const std::uint64_t next =
        table != nullptr ? table->end() : find_trailer_end(*source_, begin, end);
    if (next <= begin) break;
    begin = next;
  }
  return end - std::min(begin, end);
}

std::vector<Slot> FramePlanner::order_found(const std::vector<FoundChunk>& chunks,
                                            std::int64_t count) const {
  if (numbers_) return order_by_number(chunks, count);
  return order_by_place(
      chunks, count, static_cast<std::uint64_t>(header_.header_len.value_or(0)),
      [&](std::uint64_t begin, std::uint64_t end) { return unexplained(begin, end); });
}

void FramePlanner::order_by_places() {
  const std::int64_t count = known_count();
  if (sizes_.is_variable()) {
    plan_.slots = order_found(found_, -1);
    return;
  }
  std::vector<FoundChunk> full, shorter;
  for (const FoundChunk& chunk : found_) {
    if (chunk.nbytes == sizes_.chunksize) full.push_back(chunk);
    if (chunk.nbytes < sizes_.chunksize) shorter.push_back(chunk);
  }
  // Only the last chunk is shorter: others of that kind are what it was once.
  const std::int64_t rest = sizes_.nbytes ? *sizes_.nbytes % sizes_.chunksize : -1;
  std::erase_if(shorter, [&](const FoundChunk& chunk) {
    return rest >= 0 ? chunk.nbytes != rest : !full.empty() && chunk.at < full.back().at;
  });
  const bool has_short = rest > 0 || (rest < 0 && !shorter.empty());
  plan_.slots = order_found(full, count < 0 ? -1 : count - (has_short ? 1 : 0));
  if (!has_short) return;
  if (shorter.empty())
    plan_.slots.push_back(Slot::make_missing(1, true));
  else
    for (Slot& slot : order_found({shorter.back()}, 1)) plan_.slots.push_back(slot);
}

/// Gives each slot its size, and takes chunks that have another one out.
void FramePlanner::set_sizes() {
  if (sizes_.is_variable()) return set_variable_sizes();
  if (plan_.slots.empty()) return;
  Slot& last = plan_.slots.back();
  const std::int64_t count = count_slots(plan_.slots);
  std::int32_t last_nbytes = sizes_.chunksize;
  if (last.kind == SlotKind::stored && last.soundness == Soundness::whole &&
      last.nbytes <= sizes_.chunksize && !sizes_.array)
    last_nbytes = last.nbytes;
  else if (sizes_.nbytes)
    last_nbytes = static_cast<std::int32_t>(*sizes_.nbytes - (count - 1) * sizes_.chunksize);
  else if (last.kind == SlotKind::stored && last.nbytes < sizes_.chunksize)
    last_nbytes = last.nbytes;
  if (last.count > 1 && last_nbytes != sizes_.chunksize) {
    Slot single = last;
    single.count = 1;
    --last.count;
    plan_.slots.push_back(single);
  }
  for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
    Slot& slot = plan_.slots[i];
    const std::int32_t due = i + 1 == plan_.slots.size() ? last_nbytes : sizes_.chunksize;
    const bool is_nan = slot.kind == SlotKind::special && slot.special == codec::SpecialValue::nan;
    if ((slot.kind == SlotKind::stored && slot.nbytes != due) ||
        (is_nan && sizes_.typesize != 4 && sizes_.typesize != 8))
      slot = Slot::make_missing(slot.count, false);
    slot.nbytes = due;
  }
  sizes_.nbytes = (count - 1) * sizes_.chunksize + last_nbytes;
}

/// Of chunks without a size of their own, a single one has what is left of the contents.
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

/// True of a chunk that is read in a frame of the sizes that were decided as it was found.
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

/// Decides what is lost of a slot, once all have their sizes.
void FramePlanner::judge(Slot& slot) {
  const std::int64_t number = number_;
  number_ += slot.count;
  if (slot.kind != SlotKind::stored) return;
  compare_checksum(slot, number);
  if (slot.kind != SlotKind::stored) return;
  // A codec that the frame does not have: a damaged header says so.
  const bool is_strange = slot.soundness == Soundness::undecodable && !slot.is_proven &&
                          !needs_missing_decoder(header_.defaults);
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
  // Blocks of any size cannot be written anew, nor can what does not fit into memory.
  const bool is_written = slot.nbytes <= kMaxSalvaged && !sizes_.vl_blocks;
  if (size == 0 || size >= slot.nbytes || !is_written) {
    const std::int32_t nbytes = slot.nbytes;
    slot = Slot::make_missing(1, false);
    slot.nbytes = nbytes;
    return;
  }
  plan_.lost_blocks[number] = lost->second;
}

/// Nothing where none is recorded. That of a Bloscpack file tells of the bytes, but not of the
/// place.
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
  if (slot.is_proven && !bloscpack_) slot.is_guess = false;
  if (!slot.is_doubtful || !slot.is_guess || slot.soundness == Soundness::damaged) return;
  const std::int32_t nbytes = slot.nbytes;
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

}  // namespace bloscfs::frame
