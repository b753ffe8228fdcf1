#pragma once
// The findings about a damaged frame: what each of its chunks is, and where it is stored.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame/container/frame_info.hpp"
#include "frame/container/metalayer.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/repair/chunk_probe.hpp"

namespace bloscfs::frame::inline repair {

/// Where chunks are stored: in one file, or each in its own file.
class StoredChunks {
 public:
  struct Place {
    std::shared_ptr<const ByteSource> source;
    std::uint64_t position = 0, limit = 0;
  };
  virtual ~StoredChunks() = default;
  /// Returns the place of a chunk, for Slot::at. Returns nullopt if its file does not exist or ends
  /// before it.
  virtual std::optional<Place> locate(std::uint64_t at) const = 0;
};

enum class SlotKind : std::uint8_t { missing, special, stored };

/// A chunk's place among the others.
struct Slot {
  SlotKind kind = SlotKind::missing;
  codec::SpecialValue special = codec::SpecialValue::none;
  Soundness soundness = Soundness::none;  ///< of a stored chunk
  bool is_guess = false;                  ///< nothing proves that this chunk belongs here
  bool is_doubtful = false;               ///< its bytes do not match the recorded checksum
  bool is_proven = false;                 ///< its bytes match the recorded checksum
  bool is_unknown = false;  ///< of a missing chunk: the index does not say what was there
  std::int32_t nbytes = 0, cbytes = 0;  ///< of one chunk
  std::int64_t count = 1;               ///< number of equal chunks, if missing or special
  std::uint64_t at = 0;                 ///< file position, or number of the chunk file

  static Slot make_missing(std::int64_t count, bool is_unknown) {
    Slot slot;
    slot.count = count;
    slot.is_unknown = is_unknown;
    return slot;
  }
};

/// How the order of the chunks was found.
enum class Order { index, index_in_part, checksums, places };

struct RepairPlan {
  FrameInfo info;  ///< of the new frame, without the places of its parts
  std::vector<Metalayer> metalayers;
  std::vector<MetalayerEntry> vlmetalayers;  ///< in `layer_source`
  std::shared_ptr<const ByteSource> layer_source;
  std::vector<std::string> lost_metalayers, lost_vlmetalayers;  ///< names
  bool keeps_checksums = false;
  Order order = Order::index;
  std::vector<Slot> slots;
  /// Contents that do not decode, by the number of the slot's first chunk.
  std::map<std::int64_t, std::vector<ByteRange>> lost_blocks;
  std::shared_ptr<const StoredChunks> chunks;
  std::int64_t unused_chunks = 0;  ///< found chunks without a place
  std::vector<std::string> notes;  ///< other differences from the original, in words
  bool may_be_incomplete = false;  ///< because of one of the notes

  /// False if neither a chunk nor a sound header was found.
  bool found_anything = false;
};

}  // namespace bloscfs::frame::inline repair
