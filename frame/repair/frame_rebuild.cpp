#include "frame/repair/frame_rebuild.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "codec/chunk_encoder.hpp"
#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "frame/container/checksum.hpp"
#include "frame/editing/special_chunk.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_header_writer.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/store/store_writer.hpp"
#include "frame/stored/table_writer.hpp"

namespace bloscfs::frame::inline repair {
namespace {

constexpr std::uint8_t kVariableVersion = 3;
/// Largest contents of a Blosc1 chunk that is encoded anew, because that takes memory.
constexpr std::int32_t kMaxEncoded = 512 << 20;
constexpr std::size_t kCopyWindow = std::size_t{1} << 20;

std::int64_t entry_of(codec::SpecialValue value) {
  const std::uint8_t top = value == codec::SpecialValue::nan      ? kSpecialEntryNan
                           : value == codec::SpecialValue::uninit ? kSpecialEntryUninit
                                                                  : kSpecialEntryZero;
  return static_cast<std::int64_t>(std::uint64_t{top} << 56);
}

/// A table whose entries are added in order, and read in order.
class RunTable final : public TableContent {
 public:
  void add(std::int64_t value, std::int64_t count) {
    if (!runs_.empty() && runs_.back().first == value)
      runs_.back().second += count;
    else
      runs_.emplace_back(value, count);
    count_ += count;
  }
  std::int64_t count() const override { return count_; }
  std::optional<std::int64_t> uniform_entry() const override {
    if (runs_.size() != 1) return std::nullopt;
    return runs_.front().first;
  }
  void read(std::int64_t first, std::span<std::int64_t> out) override {
    if (first < begin_) run_ = 0, begin_ = 0;
    for (std::int64_t& entry : out) {
      while (first >= begin_ + runs_[run_].second) begin_ += runs_[run_++].second;
      entry = runs_[run_].first;
      ++first;
    }
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> runs_;
  std::int64_t count_ = 0;
  std::size_t run_ = 0;  ///< the run that was read last, and its first entry
  std::int64_t begin_ = 0;
};

/// Returns settings that encode a chunk like one with this header. Uses LZ4 if the codec cannot
/// compress here, loses data, depends on the array's shape, or needs a short header.
codec::EncodeSettings settings_like(const codec::ChunkHeader& header, const FrameInfo& info) {
  codec::EncodeSettings settings;
  settings.typesize = info.typesize;
  settings.blocksize = header.blocksize;
  const codec::CodecRow* const row = codec::find_codec(header.codec);
  const bool is_plain = row != nullptr && codec::can_compress(header.codec) &&
                        !row->depends_on_shape && row->loss == codec::Loss::none &&
                        !row->needs_short_header;
  settings.codec = is_plain ? header.codec : codec::CodecId::lz4;
  if (header.typesize > 1) settings.filters.back().id = codec::FilterId::shuffle;
  return settings;
}

std::int64_t bytes_in(const std::vector<ByteRange>& ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::int64_t{0},
                         [](std::int64_t sum, const ByteRange& range) { return sum + range.size; });
}

class FrameBuild {
 public:
  FrameBuild(const RepairPlan& plan, StoreFile& file, const RebuildSettings& settings)
      : plan_(plan),
        file_(file),
        settings_(settings),
        info_(plan.info),
        header_(serialize_frame_header(info_, plan.metalayers)),
        out_(&file, header_.size()) {
    info_.header_len = std::ssize(header_);
  }

  void run() {
    std::int64_t number = 0;
    info_.nbytes = 0;
    for (const Slot& slot : plan_.slots) {
      add(slot, number);
      number += slot.count;
      settings_.progress(number);
    }
    info_.cbytes = static_cast<std::int64_t>(out_.position()) - info_.header_len;
    if (index_.count() > 0) TableWriter(index_settings()).write(index_, out_);
    write_trailer();
    write_header();
  }

 private:
  void add(const Slot& slot, std::int64_t number) {
    if (slot.kind == SlotKind::missing && (settings_.leave_out || slot.nbytes == 0)) return;
    // A special chunk of an unknown size is left out, too.
    if (slot.nbytes == 0 && info_.variable_chunks && slot.kind == SlotKind::special) return;
    const auto lost = plan_.lost_blocks.find(number);
    const bool has_lost = lost != plan_.lost_blocks.end();
    if (settings_.leave_out && has_lost && bytes_in(lost->second) == slot.nbytes) return;
    info_.nbytes += slot.count * slot.nbytes;
    if (slot.kind == SlotKind::missing) return add_special(codec::SpecialValue::zero, slot);
    if (slot.kind == SlotKind::special) return add_special(slot.special, slot);
    if (has_lost)
      add_encoded(encode_salvaged(plan_, slot, lost->second), slot);
    else
      add_copy(slot);
  }

  /// In a fixed-size frame the index entry is enough.
  void add_special(codec::SpecialValue value, const Slot& slot) {
    if (!info_.variable_chunks) return add_entry(entry_of(value), 0, slot.count);
    for (std::int64_t i = 0; i < slot.count; ++i) {
      const std::vector<std::uint8_t> chunk = store_special(value, slot.nbytes, info_);
      add_entry(here(), checksum_of(chunk), 1);
      out_.append(chunk);
    }
  }

  void add_encoded(const std::vector<std::uint8_t>& chunk, const Slot& slot) {
    if (chunk.empty()) return add_special(codec::SpecialValue::zero, slot);
    // A doubtful chunk gets no checksum, because a checksum would make it look sound.
    add_entry(here(), slot.is_doubtful ? 0 : checksum_of(chunk), 1);
    out_.append(chunk);
  }

  void add_copy(const Slot& slot) {
    const auto place = plan_.chunks->locate(slot.at);
    if (!place) codec::throw_malformed("the file was changed meanwhile");
    std::uint8_t bytes[codec::kChunkHeaderBytes];
    const MutableBytes head = MutableBytes(bytes).first(
        std::min<std::size_t>(sizeof bytes, static_cast<std::size_t>(slot.cbytes)));
    place->source->read_exactly_at(place->position, head, "chunk");
    const codec::ChunkHeader header = codec::parse_chunk_header(
        head, static_cast<std::uint64_t>(slot.cbytes), info_.typesize, info_.block_shape);
    if (header.cbytes != slot.cbytes || header.nbytes != slot.nbytes)
      codec::throw_malformed("the file was changed meanwhile");
    // Other readers cannot read a stored special chunk in a frame. add_special() writes it in a
    // form that they can read.
    if (header.is_special() && header.special != codec::SpecialValue::value)
      return add_special(header.special, slot);
    // Not all readers of frames can read chunks of Blosc1, so encodes them anew.
    if (header.header_size == codec::kShortHeaderSize && header.nbytes <= kMaxEncoded)
      return add_encoded(encode_salvaged(plan_, slot, {}), slot);
    const std::int64_t entry = here();
    Checksum sum;
    window_.resize(kCopyWindow);
    for (std::int64_t done = 0; done < slot.cbytes;) {
      const auto size = std::min<std::int64_t>(slot.cbytes - done, std::ssize(window_));
      const MutableBytes part = MutableBytes(window_).first(static_cast<std::size_t>(size));
      place->source->read_exactly_at(place->position + static_cast<std::uint64_t>(done), part,
                                     "chunk");
      sum.update(part);
      out_.append(part);
      done += size;
    }
    add_entry(entry, slot.is_doubtful ? 0 : sum.digest(), 1);
  }

  std::int64_t here() const {
    return static_cast<std::int64_t>(out_.position()) - info_.header_len;
  }

  void add_entry(std::int64_t entry, std::uint64_t sum, std::int64_t count) {
    index_.add(entry, count);
    sums_.add(static_cast<std::int64_t>(sum), count);
  }

  void write_trailer() {
    std::vector<LayerSize> sizes;
    for (const MetalayerEntry& layer : plan_.vlmetalayers)
      sizes.push_back({layer.name, layer.stored_size});
    const bool has_sums = plan_.keeps_checksums && sums_.count() > 0;
    TableWriter tables(plain_settings());
    std::uint64_t sums_size = 0;
    if (has_sums) {
      sums_size = static_cast<std::uint64_t>(tables.write(sums_, nullptr, 0));
      sizes.push_back({kChecksumLayerName, sums_size});
    }
    has_layers_ = !sizes.empty();
    const TrailerLayout layout = lay_out_trailer(sizes);
    out_.append(layout.start);
    for (const MetalayerEntry& layer : plan_.vlmetalayers) {
      out_.append(content_head(layer.stored_size));
      out_.copy(*plan_.layer_source, layer.stored_offset, layer.stored_size);
    }
    if (has_sums) {
      out_.append(content_head(sums_size));
      tables.write(sums_, out_);
    }
    out_.append(layout.end);
    out_.flush();
    info_.frame_len = static_cast<std::int64_t>(out_.position());
  }

  void write_header() {
    update_frame_header(header_, info_, has_layers_);
    if (info_.variable_chunks || info_.vl_blocks)
      header_[offsetof(RawFrameStart, general_flags)] =
          static_cast<std::uint8_t>(kVariableVersion | 1 << kOffsetWidthShift |
                                    (info_.variable_chunks ? kFlagVariableChunks : 0) |
                                    (info_.vl_blocks ? kFlagVlBlocks : 0));
    file_.write_at(0, header_);
  }

  const RepairPlan& plan_;
  StoreFile& file_;
  const RebuildSettings& settings_;
  FrameInfo info_;
  std::vector<std::uint8_t> header_;
  StoreWriter out_;
  RunTable index_, sums_;
  bool has_layers_ = false;
  std::vector<std::uint8_t> window_;
};

}  // namespace

std::vector<std::uint8_t> encode_salvaged(const RepairPlan& plan, const Slot& slot,
                                          const std::vector<ByteRange>& lost) {
  const auto place = plan.chunks->locate(slot.at);
  Effort effort(static_cast<std::uint64_t>(slot.cbytes), slot.nbytes);
  ChunkProbe probe(effort, plan.info.typesize, plan.info.block_shape);
  const auto opened =
      place ? probe.open(*place->source, place->position, place->limit) : std::nullopt;
  if (!opened || opened->chunk.nbytes() != slot.nbytes)
    codec::throw_malformed("the file was changed meanwhile");
  std::vector<std::uint8_t> contents(static_cast<std::size_t>(slot.nbytes)), block;
  auto gap = lost.begin();
  for (std::int32_t number = 0; number < opened->chunk.block_count(); ++number) {
    const ByteRange range = opened->chunk.block_content(number);
    while (gap != lost.end() && gap->offset + gap->size <= range.offset) ++gap;
    // A lost block stays zero.
    if (gap != lost.end() && gap->offset <= range.offset) continue;
    if (!probe.decode(*place->source, place->position, opened->chunk, number, block))
      codec::throw_malformed("the file was changed meanwhile");
    std::copy(block.begin(), block.end(), contents.begin() + range.offset);
  }
  codec::ChunkEncoder encoder(settings_like(opened->chunk.header(), plan.info));
  return encoder.encode(contents).bytes;
}

void write_repaired(const RepairPlan& plan, StoreFile& file, const RebuildSettings& settings) {
  FrameBuild(plan, file, settings).run();
}

}  // namespace bloscfs::frame::inline repair
