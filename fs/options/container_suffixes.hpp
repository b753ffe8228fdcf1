#pragma once
// Ends of names in SOURCE that are taken off where containers and stores are shown.

#include <array>
#include <string_view>

namespace bloscfs::fs {

/// That new files may get.
inline constexpr std::array<std::string_view, 5> kContainerSuffixes = {".b2frame", ".b2f", ".b2",
                                                                       ".b2nd", ".blp"};

/// Those that new files may get, and those of stores of python-blosc2 and of what they hold.
inline constexpr std::array<std::string_view, 9> kHiddenSuffixes = {
    ".b2frame", ".b2f", ".b2", ".b2nd", ".blp", ".b2d", ".b2z", ".b2e", ".b2b"};

/// Of a frame that is a store this is taken off, too.
inline constexpr std::string_view kFrameStoreSuffix = ".cframe";

}  // namespace bloscfs::fs
