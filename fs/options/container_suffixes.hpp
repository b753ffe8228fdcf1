#pragma once
// Ends of names that containers have in SOURCE, and that are taken off where they are shown.

#include <array>
#include <string_view>

namespace bloscfs::fs {

inline constexpr std::array<std::string_view, 5> kContainerSuffixes = {".b2frame", ".b2f", ".b2",
                                                                       ".b2nd", ".blp"};

}  // namespace bloscfs::fs
