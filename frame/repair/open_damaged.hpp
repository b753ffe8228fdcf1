#pragma once
// The way into this room: what kind of damaged file something is, and how it is repaired.

#include <memory>
#include <string>

#include "frame/repair/repair_plan.hpp"

namespace bloscfs::frame::inline repair {

/// Plans the repair of a frame's file, or of a sparse frame's directory. Throws std::system_error
/// when it cannot be read, and std::runtime_error for what is neither a file nor a directory.
RepairPlan plan_repair(const std::string& path);
/// Of a file.
RepairPlan plan_repair(std::shared_ptr<const ByteSource> source);

}  // namespace bloscfs::frame::inline repair
