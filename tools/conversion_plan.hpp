#pragma once
// Plans how to store a frame anew: as the options ask, and otherwise as it was.

#include "frame/container/snapshot.hpp"
#include "tools/create_plan.hpp"
#include "tools/elements.hpp"

namespace bloscfs::tools {

struct ConversionPlan {
  CreatePlan target;
  bool copies_chunks = false;     ///< the stored chunks are copied, with codec and filters
  bool has_asked_chunks = false;  ///< the options give a chunk size or a chunk shape
};

/// Ignores `options.sparse`. Throws UsageError if options contradict each other or the contents.
/// Throws Error(unsupported) for a frame with chunks or blocks of different sizes, and for an array
/// whose type is not one of NumPy's.
ConversionPlan plan_conversion(const StorageOptions& options, const frame::Snapshot& source,
                               const Elements& elements);

}  // namespace bloscfs::tools
