#pragma once
// Opens the tree of objects that a URL names.

#include <memory>
#include <string>

#include "frame/remote/remote_settings.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

/// True for a text that begins with http://, https:// or s3://.
bool is_remote(const std::string& source);

/// Starts threads. Throws UrlError, RemoteError, std::system_error.
std::shared_ptr<ObjectTree> open_remote(const std::string& source, const RemoteSettings& settings);

}  // namespace bloscfs::frame::inline remote
