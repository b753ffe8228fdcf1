#pragma once
// The steps that plan a frame's repair. Used only inside this directory.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frame/repair/bloscpack_remains.hpp"
#include "frame/repair/chunk_probe.hpp"
#include "frame/repair/chunk_search.hpp"
#include "frame/repair/frame_remains.hpp"
#include "frame/repair/frame_sizes.hpp"
#include "frame/repair/index_remains.hpp"
#include "frame/repair/repair_plan.hpp"
#include "frame/stored/paged_table.hpp"

namespace bloscfs::frame::inline repair {

/// The chunk files of a sparse frame.
struct ChunkNumbers {
  std::vector<std::uint32_t> numbers;  ///< in order
  std::uint64_t stored = 0;            ///< bytes of all of them
};

/// Checksums by chunk number. Fast if the caller asks for neighbours in sequence.
class ChecksumTable {
 public:
  ChecksumTable(std::shared_ptr<const ByteSource> source, const StoredAt& at)
      : table_(std::move(source), at, 8) {}
  std::int64_t count() const { return table_.entry_count(); }
  /// Returns 0 if none is recorded, or if it cannot be read.
  std::uint64_t sum_of(std::int64_t number);

 private:
  PagedTable table_;
  codec::BlockDecoder decoder_;
  std::optional<TablePage> page_;
  std::int64_t bad_page_ = -1;
};

class FramePlanner {
 public:
  /// `source` is the frame's file. For a sparse frame it is the index file, and may be null.
  FramePlanner(std::shared_ptr<const ByteSource> source, std::shared_ptr<const StoredChunks> chunks,
               std::optional<ChunkNumbers> numbers);
  RepairPlan make();

 private:
  void read_remains();
  void start_probe();
  void find_chunks();
  bool is_item_size_doubtful() const;
  bool has_trailer_behind_header() const;
  bool is_empty_frame() const;
  bool holds_index(const FoundChunk& chunk);
  void take_header_index();
  void look_at_entries();
  std::optional<FoundChunk> look_at(std::uint64_t at);
  bool needs_no_search() const;
  void search();
  void take_named(const std::vector<FoundChunk>& named);
  void search_file(const SearchRules& rules);
  void search_files();
  bool is_contents(const FoundChunk& chunk) const;
  void search_index();
  bool take_index(IndexRemains index);
  bool starts_chunk(std::uint64_t at);
  static bool has_places(const IndexRemains& index);
  std::optional<IndexRemains> read_index(const FoundChunk& chunk);
  void leave_out_tables();
  bool is_named(std::uint64_t at) const;

  std::unique_ptr<ChecksumTable> open_checksums();
  std::uint64_t stored_sum(std::uint64_t at, std::int32_t cbytes) const;
  void take_order();
  SizeEvidence gather_evidence() const;
  void order_chunks();
  void order_by_places();
  std::vector<Slot> order_found(const std::vector<FoundChunk>& chunks, std::int64_t count) const;
  std::uint64_t unexplained(std::uint64_t begin, std::uint64_t end) const;
  std::int64_t known_count() const;
  void distrust_index();
  void set_sizes();
  void set_variable_sizes();
  bool is_readable(const Slot& slot);
  bool needs_missing_decoder(const Slot& slot);
  void judge(Slot& slot);
  std::optional<bool> checksum_agrees(const Slot& slot, std::int64_t number);
  void compare_checksum(Slot& slot, std::int64_t number);
  void take_layers();
  /// Adds a note, and marks the plan as possibly incomplete.
  void doubt(std::string note);
  void finish();

  std::shared_ptr<const ByteSource> source_;
  std::shared_ptr<const StoredChunks> chunks_;
  std::optional<ChunkNumbers> numbers_;  ///< nullopt: a contiguous frame
  std::uint64_t file_size_;
  Effort effort_;
  std::optional<ChunkProbe> probe_;
  std::optional<BloscpackRemains> bloscpack_;
  HeaderRemains header_;
  TrailerRemains trailer_;
  std::optional<IndexRemains> index_;
  std::optional<std::int64_t> base_;  ///< position that the entries of index_ count from
  bool index_is_guess_ = false;
  bool repeats_ = false;  ///< several entries of index_ name the same chunk
  std::int64_t entries_without_chunk_ = 0;
  std::vector<FoundChunk> found_;
  std::vector<FoundChunk> tables_;  ///< found chunks that are indexes or metalayers
  std::map<std::uint64_t, std::vector<ByteRange>> lost_;  ///< lost contents, by the chunk's place
  mutable std::unordered_set<std::uint64_t> named_;
  std::unordered_map<std::uint64_t, bool> starts_;  ///< results of starts_chunk()
  std::int32_t likely_chunksize_ = 0;
  codec::BlockShape block_shape_;  ///< block shape for examining chunks
  FrameSizes sizes_;
  std::unique_ptr<ChecksumTable> checksums_;
  RepairPlan plan_;
  std::int64_t number_ = 0;  ///< number of the slot that is judged
};

}  // namespace bloscfs::frame::inline repair
