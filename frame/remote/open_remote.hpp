#pragma once
// The way in: what a URL stands for.

#include <memory>
#include <string>

#include "frame/remote/remote_settings.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

/// True for http://, https:// and s3://, whatever follows.
bool is_remote(const std::string& source);

/// Throws UrlError, RemoteError, std::system_error. Has threads of its own from here on.
std::shared_ptr<ObjectTree> open_remote(const std::string& source, const RemoteSettings& settings);

}  // namespace bloscfs::frame::inline remote
