#pragma once
// What metalayers hold, as lists that can be unfolded.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/metalayer.hpp"
#include "frame/container/snapshot.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// Fixed ones and others of a frame that is open. Empty where it has none. A page has a bounded
/// part of what is large, nested deeply, or of which there is very much. Errors: std::system_error
/// from the source.
Markup metalayer_trees(const frame::Snapshot& snapshot);

/// The same of what is left of a damaged frame.
Markup metalayer_trees(const std::vector<frame::Metalayer>& layers);

}  // namespace bloscfs::tools
