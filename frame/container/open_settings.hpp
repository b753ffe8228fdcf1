#pragma once
// What is asked of the opening of a container, of whatever kind.

#include <optional>
#include <string>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline container {

struct OpenSettings {
  SourceCounters* counters = nullptr;  ///< may be null; outlives the snapshot
  /// Name of the file and the directory that it is in (borrowed for the call), so that the sidecar
  /// NAME.b2lock can be found; without a name no sidecar is looked for.
  std::string name = {};
  int directory = -1;
  /// The state of the file shortly before the call, where the caller knows it.
  std::optional<FileStamp> stamp = {};
};

}  // namespace bloscfs::frame::inline container
