#pragma once
// Extended attributes of the mount's root that describe the session.

#include <optional>
#include <string>
#include <string_view>

#include <fuse_lowlevel.h>

#include "fs/fuse/serve.hpp"

namespace bloscfs::fs {

/// For all users who may read the root: a JSON object with an entry for each operation that was
/// requested. Each has `count`, `total_us`, `bytes` (moved bytes of contents) and `buckets`. A
/// bucket counts the requests that took at most as many microseconds as its key, and longer than
/// the key before.
inline constexpr std::string_view kOperationsAttribute = "user.bloscfs.operations";
/// For the owner of the mount and root: a JSON object with the `count` of requests in progress, and
/// `requests`, oldest first, without those of the calling process. Each has `operation`, `name`,
/// `node`, `user`, `process` and `age_us`. A waiting request also has `waits_for` and `waits_us`.
inline constexpr std::string_view kRequestsAttribute = "user.bloscfs.requests";
/// For the owner of the mount and root: a JSON object with the `count` of uncommitted files, and
/// `files`. Each file has `name` and `bytes`, and `error` (a text) if the last commit failed.
/// `rescue` is the path of the rescue folder, or empty.
inline constexpr std::string_view kUncommittedAttribute = "user.bloscfs.uncommitted";

/// For the owner of the mount and root: the options of bloscfs that were given, in the form of -o.
inline constexpr std::string_view kOptionsAttribute = "user.bloscfs.options";

/// True for the owner of the mount and root.
bool may_manage(fuse_req_t request);

/// Returns the value of one of the attributes above, or nullopt for another name. A value has at
/// most 64 KiB: lists are cut, and buckets become wider. Throws std::system_error(EPERM) if the
/// user may not read the attribute.
std::optional<std::string> mount_attribute(KernelRequest& request, std::string_view name);

}  // namespace bloscfs::fs
