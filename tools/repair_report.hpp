#pragma once
// Reports what a repair restores, as text or as JSON.

#include <string>

#include "frame/repair/losses.hpp"
#include "frame/repair/repair_plan.hpp"

namespace bloscfs::tools {

struct RepairReportSettings {
  bool json = false;           ///< one object in one line
  bool leave_out = false;      ///< lost chunks are left out, instead of zeros
  bool is_other_file = false;  ///< the file is not a frame
};

/// Prints the report to stdout.
void print_repair_report(const std::string& file, const frame::RepairPlan& plan,
                         const RepairReportSettings& settings);

/// Returns a text like "lost: bytes 0 to 4096, chunk 0".
std::string loss_as_text(const frame::RepairPlan& plan, const frame::Loss& loss);
/// Returns the source of the order of the chunks, such as "index" or "guess".
const char* order_name(frame::Order order);

/// True if checksums prove everything that decodes. Otherwise, changed bytes may decode, too.
bool is_proven(const frame::RepairPlan& plan);
/// True if nothing is lost or in doubt.
bool is_complete(const frame::RepairPlan& plan);

}  // namespace bloscfs::tools
