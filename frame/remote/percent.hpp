#pragma once
// Percent-encoding of names in URLs.

#include <string>
#include <string_view>

namespace bloscfs::frame::inline remote {

/// Encodes a URL's path: all bytes except letters, digits, '-', '.', '_', '~' and '/' become %XX.
std::string percent_encoded(std::string_view path);

/// The result may have any bytes. A '%' without two hex digits after it stays.
std::string percent_decoded(std::string_view text);

}  // namespace bloscfs::frame::inline remote
