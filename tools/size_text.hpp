#pragma once
// Formats numbers for people.

#include <cstdint>
#include <string>

namespace bloscfs::tools {

/// Returns at most five characters: "512", "1.5K", "12.0M", "1023G". The units are powers of 1024,
/// as in mount options.
std::string size_text(double bytes);

/// Like size_text(), but with a space and a unit: "512 B", "1.5 KiB".
std::string size_with_unit(double bytes);

/// Formats microseconds: "95us", "1.2ms", "34ms", "2.5s".
std::string time_text(double microseconds);

}  // namespace bloscfs::tools
