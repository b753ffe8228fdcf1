#pragma once
// What a session tells of itself, as attributes of the mount's root.

#include <optional>
#include <string>
#include <string_view>

#include <fuse_lowlevel.h>

#include "fs/fuse/serve.hpp"

namespace bloscfs::fs {

/// For everybody who may read the root: a JSON object of operations, each with `count`, `total_us`,
/// `bytes` of contents that it moved, and `buckets`: how many took at most so many microseconds,
/// and longer than the bucket before says. Those that were never asked for are left out.
inline constexpr std::string_view kOperationsAttribute = "user.bloscfs.operations";
/// For the owner of the mount and root: a JSON object with the `count` of the requests under way,
/// and `requests`, the oldest first, without those of the caller. Each has `operation`, `name`,
/// `node`, `user`, `process`, `age_us`, and while it waits `waits_for` and `waits_us`.
inline constexpr std::string_view kRequestsAttribute = "user.bloscfs.requests";
/// For the same: a JSON object with the `count` of files that wait for a commit, and `files`, each
/// with `name`, `bytes`, and `error` (a text) where the last commit has failed.
inline constexpr std::string_view kUncommittedAttribute = "user.bloscfs.uncommitted";

/// For the same: those options of bloscfs that were given, as for -o.
inline constexpr std::string_view kOptionsAttribute = "user.bloscfs.options";

/// True for who has the mount, and root.
bool may_manage(fuse_req_t request);

/// What such an attribute is now; none for other names. At most 64 KiB, for which lists are cut
/// short, and buckets become wider. Throws std::system_error(EPERM).
std::optional<std::string> mount_attribute(KernelRequest& request, std::string_view name);

}  // namespace bloscfs::fs
