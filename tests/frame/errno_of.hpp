#pragma once

#include <functional>
#include <system_error>

namespace bloscfs::frame::test {

/// Returns the errno that a call throws, or 0 if it throws none.
inline int errno_of(const std::function<void()>& call) {
  try {
    call();
    return 0;
  } catch (const std::system_error& error) {
    return error.code().default_error_condition().value();
  }
}

}  // namespace bloscfs::frame::test
