#pragma once
// Writes what follows a frame's chunks, the index chunk and the trailer, for a new state
// (frame/formats/cframe.md, "Index" and "Trailer").

#include <cstdint>
#include <memory>
#include <vector>

#include "frame/editing/frame_edit.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/store/store_writer.hpp"
#include "frame/stored/table_writer.hpp"

namespace bloscfs::frame::inline editing {

/// The index entries of the state after an edit.
class EditedIndex final : public TableContent {
 public:
  EditedIndex(const FrameEdit& edit, codec::BlockDecoder& decoder);
  std::int64_t count() const override { return table_.count(); }
  std::optional<std::int64_t> uniform_entry() const override { return table_.uniform_entry(); }
  void read(std::int64_t first, std::span<std::int64_t> out) override { table_.read(first, out); }
  std::optional<std::vector<std::uint8_t>> stored_block(const codec::ChunkHeader& header,
                                                        std::int64_t first,
                                                        std::int64_t last) override {
    return table_.stored_block(header, first, last);
  }

 private:
  EditedTable::Changes changes_;
  EditedTable table_;
};

class FrameTail {
 public:
  /// The references are borrowed. Leaves out checksums that cannot be read.
  FrameTail(const FrameEdit& edit, codec::BlockDecoder& decoder);

  /// Returns an upper bound of the stored size of the index. A frame without chunks has no index.
  std::int64_t max_index_size() const;
  /// Appends the index.
  void write_index(TableContent& entries, StoreWriter& out);

  std::uint64_t trailer_len() const { return trailer_.trailer_len; }
  bool has_vlmetalayers() const { return has_vlmetalayers_; }
  /// Appends the trailer, or writes it at `position` of `file`.
  void write_trailer(StoreWriter& out);
  void write_trailer(ByteSink& file, std::uint64_t position);

 private:
  void measure_checksums(codec::BlockDecoder& decoder);

  const FrameEdit& edit_;
  EditedTable::Changes checksum_changes_;
  std::unique_ptr<TableContent> checksums_;  ///< null if the frame has no checksums
  std::uint64_t checksums_size_ = 0;
  TrailerLayout trailer_;
  bool has_vlmetalayers_ = false;
};

/// Appends a metalayer's content with its msgpack head.
void append_layer(const FrameEdit::Layer& layer, StoreWriter& out);

/// Returns the trailer of a frame without contents. It has no vlmetalayer except, if wanted, the
/// checksums.
std::vector<std::uint8_t> plain_trailer(bool checksums);

}  // namespace bloscfs::frame::inline editing
