#pragma once
// Which files are archives.

#include <string_view>

#include "fs/source/judge.hpp"

namespace bloscfs::fs {

/// The kind that a name promises; null if it is that of no archive.
const ArchiveKind* archive_kind_of(std::string_view name);

}  // namespace bloscfs::fs
