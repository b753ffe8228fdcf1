#pragma once
// Tells what a repair brings back, as text or as JSON.

#include <string>

#include "frame/repair/repair_plan.hpp"

namespace bloscfs::tools {

struct RepairReportSettings {
  bool json = false;       ///< one object, in one line
  bool leave_out = false;  ///< what is lost is not in the output, and not zeros
};

/// To stdout.
void print_repair_report(const std::string& file, const frame::RepairPlan& plan,
                         const RepairReportSettings& settings);

/// True if all is there, and in its place.
bool is_complete(const frame::RepairPlan& plan);

}  // namespace bloscfs::tools
