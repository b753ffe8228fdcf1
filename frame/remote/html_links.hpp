#pragma once
// The links of a page of HTML, which may be broken in any way.

#include <functional>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline remote {

/// Calls `visit` with the target of each <a href>, entities resolved, bytes beyond ASCII and
/// control characters as %XX. Takes time in proportion to the page. Throws RemoteError, EIO, where
/// markup would make it more, and what `visit` throws.
void for_each_link(codec::Bytes page, const std::function<void(std::string_view)>& visit);

}  // namespace bloscfs::frame::inline remote
