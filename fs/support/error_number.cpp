#include "fs/support/error_number.hpp"

#include <cerrno>
#include <new>
#include <system_error>

namespace bloscfs::fs {

std::optional<int> known_errno(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return ENOMEM;
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system == nullptr) return std::nullopt;
  // The condition of the generic category to which the code maps is its errno. Codes of
  // std::system_category() have such a condition, too.
  const std::error_condition told = system->code().default_error_condition();
  const bool is_errno = told.category() == std::generic_category() && told.value() > 0;
  return is_errno ? std::optional(told.value()) : std::nullopt;
}

int errno_of(const std::exception& error) noexcept { return known_errno(error).value_or(EIO); }

}  // namespace bloscfs::fs
