#pragma once
// Pages on which web servers list a directory: HTML with links (nginx, Apache, Python's
// http.server), and the JSON of nginx.

#include <cstddef>
#include <string_view>
#include <vector>

#include "frame/remote/index_names.hpp"

namespace bloscfs::frame::inline remote {

inline constexpr std::size_t kMaxIndexPage = std::size_t{64} << 20;

/// Adds the names of a page. `type`: the page's Content-Type. If it is empty, the page's first byte
/// decides. Names are bytes; the page's character set is ignored. Throws RemoteError: ENOTDIR if
/// the page is not an index page, EFBIG if it is too large, EIO for markup that takes too long.
/// Also throws what IndexNames::add() throws.
void read_index_page(std::string_view type, Bytes page, IndexNames& names);

/// Returns the entries one level below a page. `url`: the page's URL after redirects. Throws what
/// read_index_page() throws.
std::vector<ObjectEntry> parse_index_page(const Url& url, std::string_view type, Bytes page);

}  // namespace bloscfs::frame::inline remote
