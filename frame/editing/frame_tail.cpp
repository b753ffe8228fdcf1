#include "frame/editing/frame_tail.hpp"

#include <algorithm>
#include <utility>

#include "codec/chunk_encoder.hpp"
#include "codec/error.hpp"
#include "frame/header/cframe_format.hpp"

namespace bloscfs::frame::inline editing {
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
  if (edit.keeps_checksums()) measure_checksums(decoder);
  std::vector<LayerSize> sizes = sizes_of(edit.vlmetalayers());
  if (checksums_) sizes.push_back({kChecksumLayerName, checksums_size_});
  has_vlmetalayers_ = !sizes.empty();
  trailer_ = lay_out_trailer(sizes);
}

void FrameTail::measure_checksums(codec::BlockDecoder& decoder) {
  checksums_ = std::make_unique<EditedTable>(edit_.kept_checksums(), edit_.kept(),
                                             edit_.info().nchunks, 0, checksum_changes_, decoder);
  try {
    checksums_size_ =
        static_cast<std::uint64_t>(TableWriter(plain_settings()).write(*checksums_, nullptr, 0));
  } catch (const codec::Error&) {
    // The commit drops recorded checksums that cannot be read. It does not compute them anew,
    // because the chunks may have been damaged since they were recorded.
    checksums_.reset();
  }
}

std::int64_t FrameTail::max_index_size() const {
  return TableWriter::max_stored_size(edit_.info().nchunks);
}

void FrameTail::write_index(TableContent& entries, StoreWriter& out) {
  TableWriter(index_settings()).write(entries, out);
}

void FrameTail::write_trailer(StoreWriter& out) {
  out.append(trailer_.start);
  for (const FrameEdit::Layer& layer : edit_.vlmetalayers()) append_layer(layer, out);
  if (checksums_) {
    out.append(content_head(checksums_size_));
    TableWriter(plain_settings()).write(*checksums_, out);
  }
  out.append(trailer_.end);
}

void FrameTail::write_trailer(ByteSink& file, std::uint64_t position) {
  StoreWriter out(&file, position);
  write_trailer(out);
  out.flush();
}

void append_layer(const FrameEdit::Layer& layer, StoreWriter& out) {
  out.append(content_head(layer.stored_size()));
  if (layer.kept)
    out.copy(*layer.source, layer.kept->stored_offset, layer.kept->stored_size);
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

}  // namespace bloscfs::frame::inline editing
