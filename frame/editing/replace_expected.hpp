#pragma once
// Replaces a file only if it is the expected one, even if another program replaces it at the last
// moment.

#include <functional>
#include <string>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline editing {

/// Renames `from` to `to` in one step, if `is_expected` accepts the file that has the name `to`.
/// Returns true if it has renamed. The old file is then called `from`, or is gone. Otherwise
/// returns false and leaves both names as they were. If the filesystem cannot exchange names,
/// `is_expected` is asked just before the rename. Errors are std::system_error: ENOENT if one of
/// the two files does not exist.
bool replace_expected(StoreDirectory& directory, const std::string& from, const std::string& to,
                      const std::function<bool(const FileStamp&)>& is_expected);

}  // namespace bloscfs::frame::inline editing
