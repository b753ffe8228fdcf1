#pragma once
// Pages by which web servers show what is in a directory: HTML with links (nginx, Apache, Python's
// http.server), and the JSON of nginx.

#include <cstddef>
#include <string_view>
#include <vector>

#include "frame/remote/url.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

inline constexpr std::size_t kMaxIndexPage = std::size_t{64} << 20;

/// What is one level below a page, in the order of names, each once, without states. `url`: where
/// the page is, behind redirects; `type`: its Content-Type, by its first byte if empty. Names in
/// pages are bytes, whatever the page says of its character set. Throws RemoteError: ENOTDIR for
/// what is no index page, EFBIG for one that is too large, EIO for markup that takes too long; and
/// what `charge` throws, of which the entries are taken.
std::vector<ObjectEntry> parse_index_page(const Url& url, std::string_view type, Bytes page,
                                          MemoryCharge& charge = *uncharged());

}  // namespace bloscfs::frame::inline remote
