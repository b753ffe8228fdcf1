#pragma once
// Writes the repaired frame.

#include <cstdint>
#include <functional>

#include "frame/repair/repair_plan.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline repair {

struct RebuildSettings {
  bool leave_out = false;  ///< leaves out lost chunks instead of writing zeros; not for arrays
  /// Called with the number of chunks that are done. An exception ends the work.
  std::function<void(std::int64_t)> progress = [](std::int64_t) {};
};

/// Writes a contiguous frame to an empty file. Sound chunks keep their bytes. Damaged chunks are
/// encoded anew, with zeros for lost blocks. Throws std::system_error, and Error if the source has
/// changed since the plan was made.
void write_repaired(const RepairPlan& plan, StoreFile& file, const RebuildSettings& settings);

/// Returns a new stored chunk with the sound blocks of a damaged one, and zeros in the ranges
/// `lost`. Empty if the result is all zeros.
std::vector<std::uint8_t> encode_salvaged(const RepairPlan& plan, const Slot& slot,
                                          const std::vector<ByteRange>& lost);

}  // namespace bloscfs::frame::inline repair
