#pragma once
// Tells containers whose contents nobody here can decode, by what their headers say.

#include <optional>
#include <string>

#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline container {

/// The codec or filter that a container is stored with and that we lack: "codec grok is not
/// supported". nullopt where there is none, and where no chunk has stored bytes. Chunks may differ
/// from the header: what only they say is told by reading them. Reads the index's header at most.
/// Errors: std::system_error from the source.
std::optional<std::string> missing_decoder(const Snapshot& snapshot);

}  // namespace bloscfs::frame::inline container
