#pragma once
// Tells what a repair brings back, as text or as JSON.

#include <string>

#include "frame/repair/losses.hpp"
#include "frame/repair/repair_plan.hpp"

namespace bloscfs::tools {

struct RepairReportSettings {
  bool json = false;       ///< one object, in one line
  bool leave_out = false;  ///< what is lost is not in the output, and not zeros
};

/// To stdout.
void print_repair_report(const std::string& file, const frame::RepairPlan& plan,
                         const RepairReportSettings& settings);

/// "lost: bytes 0 to 4096, chunk 0"
std::string loss_as_text(const frame::RepairPlan& plan, const frame::Loss& loss);
/// What told the order of the chunks: "index", "guess".
const char* order_name(frame::Order order);

/// True if all is there, and in its place.
bool is_complete(const frame::RepairPlan& plan);

}  // namespace bloscfs::tools
