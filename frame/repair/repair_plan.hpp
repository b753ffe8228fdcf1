#pragma once
// What can be known of a damaged frame: what each of its chunks is, and where it is stored.

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

/// Where chunks are stored: in one file, or in a file each.
class StoredChunks {
 public:
  struct Place {
    std::shared_ptr<const ByteSource> source;
    std::uint64_t position = 0, limit = 0;
  };
  virtual ~StoredChunks() = default;
  /// Nothing where there is no such file, or not so much of it.
  virtual std::optional<Place> locate(std::uint64_t at) const = 0;
};

enum class SlotKind : std::uint8_t { missing, special, stored };

/// A chunk's place among the others.
struct Slot {
  SlotKind kind = SlotKind::missing;
  codec::SpecialValue special = codec::SpecialValue::none;
  Soundness soundness = Soundness::none;  ///< of a stored one
  bool is_guess = false;                  ///< nothing proves that this chunk belongs here
  bool is_doubtful = false;  ///< its bytes are not those of which a checksum was recorded
  bool is_proven = false;    ///< they are
  bool is_unknown = false;   ///< of a missing one: the index does not say what was there
  std::int32_t nbytes = 0, cbytes = 0;  ///< of one chunk
  std::int64_t count = 1;               ///< so many chunks are alike: missing and special ones
  std::uint64_t at = 0;                 ///< file position, or number of the chunk file

  static Slot make_missing(std::int64_t count, bool is_unknown) {
    Slot slot;
    slot.count = count;
    slot.is_unknown = is_unknown;
    return slot;
  }
};

/// What told the order of the chunks.
enum class Order { index, index_in_part, checksums, places };

struct RepairPlan {
  FrameInfo info;  ///< of the frame that can be made; nothing of where its parts are
  std::vector<Metalayer> metalayers;
  std::vector<MetalayerEntry> vlmetalayers;  ///< in `layer_source`
  std::shared_ptr<const ByteSource> layer_source;
  std::vector<std::string> lost_metalayers, lost_vlmetalayers;  ///< names
  bool keeps_checksums = false;
  Order order = Order::index;
  std::vector<Slot> slots;
  /// By the number of the first chunk of a slot: contents of the chunk that do not decode.
  std::map<std::int64_t, std::vector<ByteRange>> lost_blocks;
  std::shared_ptr<const StoredChunks> chunks;
  std::int64_t unused_chunks = 0;  ///< that were found and have no place
  std::vector<std::string> notes;  ///< what else is not as it was, in words
  bool may_be_incomplete = false;  ///< by one of the notes

  /// False where neither a chunk nor a sound header was found.
  bool found_anything = false;
};

}  // namespace bloscfs::frame::inline repair
