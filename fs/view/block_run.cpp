#include "fs/view/block_run.hpp"

#include <algorithm>

namespace bloscfs::fs {
BlockRun block_run_at(const codec::Chunk& chunk, std::int64_t chunk_offset) {
  // Example with blocks of 3000 bytes and runs of 4096: byte 5000 is in block 1. That block begins
  // at 3000, in the first stretch of 4096 bytes. So the run is blocks 0 and 1.
  const std::int64_t start = chunk.block_content(chunk.block_at(chunk_offset)).offset;
  const std::int64_t begin = start / kRunSize * kRunSize;
  const std::int64_t end = std::min<std::int64_t>(begin + kRunSize, chunk.nbytes());
  BlockRun run;
  run.first = chunk.block_at(begin);
  if (chunk.block_content(run.first).offset < begin) run.first++;
  run.last = chunk.block_at(end - 1);
  run.content.offset = chunk.block_content(run.first).offset;
  run.content.size = end_of(chunk.block_content(run.last)) - run.content.offset;
  run.stored = chunk.block_stored(run.first);
  for (std::int32_t block = run.first + 1; block <= run.last; block++) {
    const codec::ByteRange stored = chunk.block_stored(block);
    const std::int64_t stored_end = std::max(end_of(run.stored), end_of(stored));
    run.stored.offset = std::min(run.stored.offset, stored.offset);
    run.stored.size = stored_end - run.stored.offset;
  }
  return run;
}

}  // namespace bloscfs::fs
