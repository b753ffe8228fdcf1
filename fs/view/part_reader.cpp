#include "fs/view/part_reader.hpp"

#include <algorithm>
#include <cstring>

namespace bloscfs::fs {

void PartReader::read(std::int64_t offset, codec::MutableBytes out) {
  // Rows may come in any order within the block. A span that begins at the lowest byte has all of
  // them, unless the block needs several spans.
  std::int64_t lowest = part_.block_size;
  for (const auto& rows : *part_.rows) lowest = std::min(lowest, rows.first.in_block);
  enter(lowest);
  for (const auto& rows : *part_.rows) {
    const auto last = rows.last();
    if (!is_in_span(rows.first.in_block)) enter(rows.first.in_block);
    if (span_.block && last.in_block + last.length <= span_end()) {
      copy_rows(rows, out.data() + (rows.first.array_offset - offset));
      continue;
    }
    frame::ArrayGeometry::Run run = rows.first;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      copy_run(run, out.subspan(static_cast<std::size_t>(run.array_offset - offset),
                                static_cast<std::size_t>(run.length)));
      run.array_offset += rows.array_step;
      run.in_block += rows.block_step;
    }
  }
  leave();
}

void PartReader::enter(std::int64_t in_block) {
  leave();
  span_ = blocks_.span_at(opened_, part_.chunk_offset + in_block, part_.block_size - in_block,
                          request_);
  span_begin_ = in_block;
  given_ = 0;
}

void PartReader::leave() const {
  if (kept_by_kernel_) blocks_.note_given(opened_, span_, given_);
}

void PartReader::copy_rows(const frame::ArrayGeometry::Rows& rows, std::uint8_t* to) {
  const std::uint8_t* const from = span_.bytes.data() + (rows.first.in_block - span_begin_);
  for (std::int64_t row = 0; row < rows.count; ++row)
    std::memcpy(to + row * rows.array_step, from + row * rows.block_step,
                static_cast<std::size_t>(rows.first.length));
  count_given(rows.count * rows.first.length, rows.last().in_block + rows.first.length);
}

void PartReader::copy_run(const frame::ArrayGeometry::Run& run, codec::MutableBytes to) {
  const std::int64_t run_end = run.in_block + run.length;
  for (std::int64_t at = run.in_block; at < run_end;) {
    if (!is_in_span(at)) enter(at);
    const std::int64_t end = std::min(run_end, span_end());
    span_.copy(at - span_begin_, to.subspan(static_cast<std::size_t>(at - run.in_block),
                                            static_cast<std::size_t>(end - at)));
    count_given(end - at, end);
    at = end;
  }
}

void PartReader::count_given(std::int64_t size, std::int64_t end) {
  // No reader asks for the padding, so it counts as given with the last bytes of the block.
  given_ += size + (end == part_.used_end ? part_.block_size - part_.used_size : 0);
}

}  // namespace bloscfs::fs
