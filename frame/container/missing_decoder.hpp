#pragma once
// Finds containers that this program cannot decode, from their headers.

#include <optional>
#include <string>

#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline container {

/// Returns which codec or filter is missing, as a message: "codec grok is not supported". Returns
/// nullopt if none is missing, or if no chunk has stored bytes. Chunks may differ from the header;
/// only reading them shows that. Reads at most the header of the index. Errors: std::system_error
/// from the source.
std::optional<std::string> missing_decoder(const Snapshot& snapshot);

}  // namespace bloscfs::frame::inline container
