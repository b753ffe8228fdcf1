#pragma once
// Bytes of names in URLs.

#include <string>
#include <string_view>

namespace bloscfs::frame::inline remote {

/// For a path of a URL: all but letters, digits, '-', '.', '_', '~' and '/' become %XX.
std::string percent_encoded(std::string_view path);

/// Any bytes may come out. A '%' without two digits behind it stands for itself.
std::string percent_decoded(std::string_view text);

}  // namespace bloscfs::frame::inline remote
