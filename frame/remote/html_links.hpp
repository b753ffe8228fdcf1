#pragma once
// The links of an HTML page, which may be malformed in any way.

#include <functional>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline remote {

/// Calls `visit` with the target of each <a href>: entities are resolved, and control characters
/// and bytes beyond ASCII become %XX. Takes time proportional to the page's size. Throws
/// RemoteError(EIO) for markup that would take longer. Passes on errors of `visit`.
void for_each_link(codec::Bytes page, const std::function<void(std::string_view)>& visit);

}  // namespace bloscfs::frame::inline remote
