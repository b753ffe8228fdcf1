#pragma once
// Settings for opening a container of any kind.

#include <optional>
#include <string>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline container {

struct OpenSettings {
  SourceCounters* counters = nullptr;  ///< may be null; outlives the snapshot
  /// Name of the file, and a descriptor of its directory, which is borrowed for the call. They
  /// locate the sidecar NAME.b2lock. Without a name, opening does not look for a sidecar.
  std::string name = {};
  int directory = -1;
  /// The state of the file shortly before the call, if the caller knows it.
  std::optional<FileStamp> stamp = {};
};

}  // namespace bloscfs::frame::inline container
