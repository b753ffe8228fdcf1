#pragma once
// Nothing takes the place of what nobody has looked at: another program may have put something else
// under a name, up to the moment in which it is given away.

#include <functional>
#include <string>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline editing {

/// Gives `from` the name `to` in one step, if `is_expected` says of what has that name that it may
/// be replaced; this is then called `from`, or gone. Else false, and both names are as they were.
/// Where the filesystem cannot exchange names, `is_expected` is asked just before.
/// Errors are std::system_error: ENOENT where one of the two is not there.
bool replace_expected(StoreDirectory& directory, const std::string& from, const std::string& to,
                      const std::function<bool(const FileStamp&)>& is_expected);

}  // namespace bloscfs::frame::inline editing
