#pragma once
// Probes whether a store does what it must so that several hosts can write to it safely.

#include <string>

#include "frame/remote/s3_bucket.hpp"

namespace bloscfs::frame::inline remote {

/// Writes, checks and removes objects `prefix`.bloscfs-probe-*. Removes them also if a check fails.
/// Sets the bucket's S3Capabilities. If the object store does not keep conditions, throws
/// RemoteError(EOPNOTSUPP) with the check that failed.
void probe_store(S3Bucket& bucket, const std::string& prefix);

/// The beginning of these objects' names.
inline constexpr const char* kProbeName = ".bloscfs-probe-";

}  // namespace bloscfs::frame::inline remote
