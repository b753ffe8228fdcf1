#pragma once
// What is asked of the opening of a container, of whatever kind.

#include <string>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline container {

struct OpenSettings {
  SourceCounters* counters = nullptr;  ///< may be null; outlives the snapshot
  /// Name of the file and the directory that it is in (borrowed for the call), so that the sidecar
  /// NAME.b2lock can be found; without a name no sidecar is looked for.
  std::string name = {};
  int directory = -1;
};

}  // namespace bloscfs::frame::inline container
