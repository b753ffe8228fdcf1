#pragma once
// What a store must do so that several hosts can write to it, tried before one does.

#include <string>

#include "frame/remote/s3_bucket.hpp"

namespace bloscfs::frame::inline remote {

/// Writes, checks and removes objects `prefix`.bloscfs-probe-*; those go also where it fails.
/// Learns the store's manners. Throws RemoteError: EOPNOTSUPP, with a line that says which check
/// failed, of a store that does not keep conditions.
void probe_store(S3Bucket& bucket, const std::string& prefix);

/// What names of these objects begin with.
inline constexpr const char* kProbeName = ".bloscfs-probe-";

}  // namespace bloscfs::frame::inline remote
