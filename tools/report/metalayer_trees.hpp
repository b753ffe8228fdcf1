#pragma once
// Shows the contents of metalayers as lists that the reader can unfold.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/metalayer.hpp"
#include "frame/container/snapshot.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// Returns the metalayers and vlmetalayers of an open frame; empty if it has none. Cuts contents
/// that are large, nested deeply, or numerous. Throws std::system_error of the source.
Markup metalayer_trees(const frame::Snapshot& snapshot);

/// Returns the metalayers of the remains of a damaged frame.
Markup metalayer_trees(const std::vector<frame::Metalayer>& layers);

}  // namespace bloscfs::tools
