#pragma once
// How a frame is stored anew: what is asked for, and else as it was.

#include "frame/container/snapshot.hpp"
#include "tools/create_plan.hpp"
#include "tools/elements.hpp"

namespace bloscfs::tools {

struct ConversionPlan {
  CreatePlan target;
  bool copies_chunks = false;  ///< as they are stored: chunks, codec and filters stay what they are
  bool has_asked_chunks = false;  ///< their size is the options', not the source's
};

/// `options.sparse` says nothing here. Throws UsageError where options contradict each other or the
/// contents, Error(unsupported) for what is no chunks of one size, and for an array of a type that
/// is not NumPy's.
ConversionPlan plan_conversion(const StorageOptions& options, const frame::Snapshot& source,
                               const Elements& elements);

}  // namespace bloscfs::tools
