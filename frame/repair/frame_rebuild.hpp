#pragma once
// Writes the frame that a repair leads to.

#include <cstdint>
#include <functional>

#include "frame/repair/repair_plan.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline repair {

struct RebuildSettings {
  bool leave_out = false;  ///< chunks of which nothing is left, in place of zeros; not of arrays
  /// Called with how many chunks are done; what it throws ends the work.
  std::function<void(std::int64_t)> progress = [](std::int64_t) {};
};

/// Writes a contiguous frame to an empty file. Sound chunks keep their bytes; damaged ones are
/// encoded anew, with zeros for what is lost. Throws std::system_error, and Error when the source
/// has changed meanwhile.
void write_repaired(const RepairPlan& plan, StoreFile& file, const RebuildSettings& settings);

/// The stored bytes of a damaged chunk's sound blocks, and zeros where `lost` is; empty if that is
/// all zeros.
std::vector<std::uint8_t> encode_salvaged(const RepairPlan& plan, const Slot& slot,
                                          const std::vector<ByteRange>& lost);

}  // namespace bloscfs::frame::inline repair
