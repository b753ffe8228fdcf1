#pragma once
// Frames whose chunks are known, and random damage to them.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// A chunk of the undamaged frame. A special chunk has no stored bytes.
struct KnownChunk {
  std::uint64_t at = 0;
  std::int64_t cbytes = 0;
  ByteVector contents;
};

/// A frame as it is before it is damaged.
struct KnownFrame {
  ByteVector bytes;
  frame::FrameInfo info;
  std::vector<KnownChunk> chunks;
  std::uint64_t index_at = 0, index_end = 0;
  bool keeps_checksums = false;

  bool has_special() const {
    return std::any_of(chunks.begin(), chunks.end(),
                       [](const KnownChunk& chunk) { return chunk.cbytes == 0; });
  }
};

/// Reads up to `most` chunks. Stops at a chunk that claims to be too large, since a damaged header
/// may have any number.
std::vector<KnownChunk> read_chunks(const frame::Snapshot& snapshot, std::int64_t most);
KnownFrame look_at(const fs_std::path& path);
/// Concatenates the contents of chunks. The result includes the padding of an array.
ByteVector contents_of(const std::vector<KnownChunk>& chunks);

/// Damages one or two random places of a frame.
class Damager {
 public:
  Damager(Random& random, const KnownFrame& known)
      : random_(random), known_(known), bytes_(known.bytes) {}

  ByteVector damage();
  const std::string& what() const { return what_; }

 private:
  void damage_once();
  void overwrite(std::int64_t at, std::int64_t size, bool zeros);

  Random& random_;
  const KnownFrame& known_;
  ByteVector bytes_;
  std::string what_;
};

}  // namespace bloscfs::test
