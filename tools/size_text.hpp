#pragma once
// Numbers for people.

#include <cstdint>
#include <string>

namespace bloscfs::tools {

/// At most five characters: "512", "1.5K", "12.0M", "1023G"; powers of 1024, as in mount options.
std::string size_text(double bytes);

/// The same with a blank and a unit: "512 B", "1.5 KiB".
std::string size_with_unit(double bytes);

/// Of microseconds: "95us", "1.2ms", "34ms", "2.5s".
std::string time_text(double microseconds);

}  // namespace bloscfs::tools
