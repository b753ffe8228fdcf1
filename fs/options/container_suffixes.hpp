#pragma once
// Suffixes of stored names that the shown names of containers and stores lack.

#include <array>
#include <string_view>

namespace bloscfs::fs {

/// Suffixes that new files may get.
inline constexpr std::array<std::string_view, 5> kContainerSuffixes = {".b2frame", ".b2f", ".b2",
                                                                       ".b2nd", ".blp"};

/// Suffixes that new files may get, and those of python-blosc2's stores and of the files in stores.
inline constexpr std::array<std::string_view, 9> kHiddenSuffixes = {
    ".b2frame", ".b2f", ".b2", ".b2nd", ".blp", ".b2d", ".b2z", ".b2e", ".b2b"};

/// Suffix that is removed only from the name of a frame that is a store.
inline constexpr std::string_view kFrameStoreSuffix = ".cframe";

}  // namespace bloscfs::fs
