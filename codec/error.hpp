#pragma once
// The only exception type for bad input, and its mapping to errno values.

#include <string>
#include <system_error>

namespace bloscfs::codec {

enum class FormatErrc {
  malformed = 1,  ///< the bytes break the format: EIO
  unsupported,    ///< valid, but needs an unsupported codec, filter or version: EOPNOTSUPP
  too_large,      ///< needs more memory than the budget allows: EFBIG
  unwritable,     ///< settings that no chunk can be written with: EINVAL
};

const std::error_category& format_category() noexcept;
std::error_code make_error_code(FormatErrc e) noexcept;

/// what() returns only the context, such as "cframe trailer at 4096: length 9000 > 512".
class Error : public std::system_error {
 public:
  Error(FormatErrc code, std::string context);
  const char* what() const noexcept override { return context_.c_str(); }

 private:
  std::string context_;
};

/// Shorthands for the two frequent throws.
[[noreturn]] void throw_malformed(std::string context);
[[noreturn]] void throw_unsupported(std::string context);

}  // namespace bloscfs::codec

template <>
struct std::is_error_code_enum<bloscfs::codec::FormatErrc> : std::true_type {};
