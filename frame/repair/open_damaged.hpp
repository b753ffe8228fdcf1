#pragma once
// Entry point of repair/: recognises the kind of a damaged file and plans its repair.

#include <memory>
#include <string>

#include "frame/repair/repair_plan.hpp"

namespace bloscfs::frame::inline repair {

/// Plans the repair of a frame's file, or of a sparse frame's directory. Throws std::system_error
/// if it cannot be read, and std::runtime_error if it is neither a file nor a directory.
RepairPlan plan_repair(const std::string& path);
/// Plans the repair of a file.
RepairPlan plan_repair(std::shared_ptr<const ByteSource> source);

}  // namespace bloscfs::frame::inline repair
