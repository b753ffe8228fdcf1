#pragma once
// Turns index entries into places of chunks, for fixed-size and variable-size frames
// (frame/formats/cframe.md, "Index").

#include <cstdint>
#include <optional>
#include <vector>

#include "frame/container/frame_info.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/stored/paged_table.hpp"

namespace bloscfs::frame::inline reading {

/// Properties of the frame that the meaning of an entry depends on.
struct IndexRules {
  ContainerKind kind = ContainerKind::cframe;
  std::uint64_t chunks_at = 0;   ///< file position where offset 0 is (cframe)
  std::int64_t chunks_size = 0;  ///< bytes of the chunk area (cframe)
  std::int64_t nbytes = 0;       ///< of the whole frame
  std::int64_t nchunks = 0;
  std::int32_t chunksize = 0;  ///< 0: variable
};

/// Returns the special value of a negative entry; none for an entry >= 0. Throws Error for an
/// invalid entry.
codec::SpecialValue special_of_entry(std::int64_t entry);

/// Returns the place of the chunk that `entry` points at. The caller knows its nbytes and
/// content_offset. Throws Error(malformed) if the place is outside the chunk area.
ChunkPlace place_of_entry(const IndexRules& rules, std::int64_t entry, std::int64_t number,
                          std::int64_t content_offset, std::int32_t nbytes);

/// Page of a fixed-size frame: sizes follow from the chunk numbers.
class FixedIndexPage final : public IndexPage {
 public:
  FixedIndexPage(const IndexRules& rules, TablePage page);
  std::int64_t first_chunk() const override { return page_.first; }
  std::int64_t chunk_count() const override {
    return static_cast<std::int64_t>(page_.entries.size());
  }
  ChunkPlace place(std::int64_t chunk) const override;
  std::int64_t chunk_at(std::int64_t content_offset) const override;
  bool uniform_special() const override { return uniform_special_; }
  std::optional<bool> uniform_hole() const override { return uniform_hole_; }
  std::size_t memory() const override { return sizeof(*this) + page_.memory(); }

 private:
  IndexRules rules_;
  TablePage page_;
  bool uniform_special_;
  std::optional<bool> uniform_hole_;
};

/// Page of a variable-size frame: the chunk headers gave the start of each chunk.
class VariableIndexPage final : public IndexPage {
 public:
  struct Entry {
    std::int64_t value = 0;  ///< entry in the index
    std::int64_t content_offset = 0;
    std::int32_t nbytes = 0;
  };
  VariableIndexPage(const IndexRules& rules, std::int64_t first, std::vector<Entry> entries);
  std::int64_t first_chunk() const override { return first_; }
  std::int64_t chunk_count() const override { return static_cast<std::int64_t>(entries_.size()); }
  ChunkPlace place(std::int64_t chunk) const override;
  std::int64_t chunk_at(std::int64_t content_offset) const override;
  bool uniform_special() const override;
  std::size_t memory() const override {
    return sizeof(*this) + entries_.capacity() * sizeof(Entry);
  }

 private:
  IndexRules rules_;
  std::int64_t first_;
  std::vector<Entry> entries_;
};

}  // namespace bloscfs::frame::inline reading
