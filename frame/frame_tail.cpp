#include "frame/frame_tail.hpp"

#include <algorithm>
#include <utility>

#include "codec/chunk_encoder.hpp"
#include "codec/error.hpp"
#include "frame/cframe_format.hpp"
#include "frame/checksum.hpp"

namespace bloscfs::frame {
namespace {

EditedTable::Changes index_changes(const FrameEdit& edit) {
  EditedTable::Changes changes;
  for (const auto& [number, chunk] : edit.chunks())
    changes.emplace_hint(changes.end(), number, chunk.entry);
  return changes;
}

std::shared_ptr<const PagedTable> base_index(const FrameEdit& edit) {
  return edit.base() ? edit.base()->index() : nullptr;
}

/// The recorded checksums; null if there are none, or none that can be read.
std::shared_ptr<const PagedTable> base_checksums(const FrameEdit& edit) {
  const auto& layer = edit.kept_checksums();
  if (!layer) return nullptr;
  try {
    return std::make_shared<const PagedTable>(
        edit.base()->source(), StoredAt{layer->stored_offset, layer->stored_size}, 8);
  } catch (const codec::Error&) {
    return nullptr;
  }
}

/// 0 where the chunk's header is bad, so that its bytes are not known.
std::uint64_t compute_checksum(const FrameSnapshot& base, std::int64_t entry, std::int64_t number) {
  Checksum sum;
  try {
    base.for_each_part(base.place_of(entry, number), [&](Bytes part) { sum.update(part); });
  } catch (const codec::Error&) {
    return 0;
  }
  return sum.digest();
}

/// Checksums that had to be computed.
class ComputedChecksums final : public TableContent {
 public:
  ComputedChecksums(const FrameEdit& edit, codec::BlockDecoder& decoder)
      : sums_(static_cast<std::size_t>(edit.info().nchunks)) {
    for (const auto& [number, chunk] : edit.chunks())
      sums_[static_cast<std::size_t>(number)] = static_cast<std::int64_t>(chunk.checksum);
    if (edit.kept() == 0) return;
    EntryReader entries(*edit.base(), decoder);
    for (std::int64_t number = 0; number < edit.kept(); ++number) {
      if (edit.chunks().count(number) != 0) continue;
      const std::int64_t entry = entries[number];
      if (entry >= 0)
        sums_[static_cast<std::size_t>(number)] =
            static_cast<std::int64_t>(compute_checksum(*edit.base(), entry, number));
    }
  }

  std::int64_t count() const override { return std::ssize(sums_); }
  void read(std::int64_t first, std::span<std::int64_t> out) override {
    std::copy_n(sums_.begin() + first, out.size(), out.begin());
  }

 private:
  std::vector<std::int64_t> sums_;
};

EditedTable::Changes checksum_changes(const FrameEdit& edit) {
  EditedTable::Changes changes;
  for (const auto& [number, chunk] : edit.chunks())
    changes.emplace_hint(changes.end(), number, static_cast<std::int64_t>(chunk.checksum));
  return changes;
}

}  // namespace

EditedIndex::EditedIndex(const FrameEdit& edit, codec::BlockDecoder& decoder)
    : changes_(index_changes(edit)),
      table_(base_index(edit), edit.kept(), edit.info().nchunks,
             special_entry(codec::SpecialValue::zero), changes_, decoder) {}

FrameTail::FrameTail(const FrameEdit& edit, codec::BlockDecoder& decoder)
    : edit_(edit), checksum_changes_(checksum_changes(edit)) {
  // Without older chunks all is known; there may be more than memory for their sums.
  if (const auto old = base_checksums(edit); old || (edit.keeps_checksums() && edit.kept() == 0))
    checksums_ = std::make_unique<EditedTable>(old, edit.kept(), edit.info().nchunks, 0,
                                               checksum_changes_, decoder);
  else if (edit.keeps_checksums())
    checksums_ = std::make_unique<ComputedChecksums>(edit, decoder);
  std::vector<LayerSize> sizes = sizes_of(edit.vlmetalayers());
  if (checksums_) {
    checksums_size_ =
        static_cast<std::uint64_t>(TableWriter(plain_settings()).write(*checksums_, nullptr, 0));
    sizes.push_back({kChecksumLayerName, checksums_size_});
  }
  has_vlmetalayers_ = !sizes.empty();
  trailer_ = lay_out_trailer(sizes);
}

std::int64_t FrameTail::max_index_size() const {
  return TableWriter::max_stored_size(edit_.info().nchunks);
}

std::uint64_t FrameTail::write_index(TableContent& entries, StoreFile& file,
                                     std::uint64_t position) {
  return static_cast<std::uint64_t>(TableWriter(index_settings()).write(entries, &file, position));
}

void FrameTail::write_trailer(StoreFile& file, std::uint64_t position) {
  StoreWriter out(&file, position);
  out.append(trailer_.start);
  for (const FrameEdit::Layer& layer : edit_.vlmetalayers()) append_layer(layer, edit_, out);
  if (checksums_) {
    out.append(content_head(checksums_size_));
    out.flush();
    TableWriter(plain_settings()).write(*checksums_, &file, out.position());
    out = StoreWriter(&file, out.position() + checksums_size_);
  }
  out.append(trailer_.end);
  out.flush();
}

void append_layer(const FrameEdit::Layer& layer, const FrameEdit& edit, StoreWriter& out) {
  out.append(content_head(layer.stored_size()));
  if (layer.kept)
    out.copy(*edit.base()->source(), layer.kept->stored_offset, layer.kept->stored_size);
  else
    out.append(layer.stored);
}

std::vector<std::uint8_t> plain_trailer(bool checksums) {
  std::vector<std::uint8_t> chunk;
  std::vector<LayerSize> sizes;
  if (checksums) {
    chunk = codec::ChunkEncoder(plain_settings()).encode_stored({});
    sizes.push_back({kChecksumLayerName, chunk.size()});
  }
  const TrailerLayout layout = lay_out_trailer(sizes);
  std::vector<std::uint8_t> bytes = layout.start;
  if (checksums) {
    const auto head = content_head(chunk.size());
    bytes.insert(bytes.end(), head.begin(), head.end());
    bytes.insert(bytes.end(), chunk.begin(), chunk.end());
  }
  bytes.insert(bytes.end(), layout.end.begin(), layout.end.end());
  return bytes;
}

}  // namespace bloscfs::frame
