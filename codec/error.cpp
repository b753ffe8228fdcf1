#include "codec/error.hpp"

#include <utility>

namespace bloscfs::codec {
namespace {

class FormatCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "format"; }

  std::string message(int value) const override {
    switch (static_cast<FormatErrc>(value)) {
      case FormatErrc::malformed:
        return "malformed data";
      case FormatErrc::unsupported:
        return "unsupported feature";
      case FormatErrc::too_large:
        return "needs more memory than allowed";
      case FormatErrc::unwritable:
        return "settings that cannot be written";
    }
    return "unknown format error";
  }

  std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<FormatErrc>(value)) {
      case FormatErrc::unsupported:
        return std::errc::operation_not_supported;
      case FormatErrc::too_large:
        return std::errc::file_too_large;
      case FormatErrc::unwritable:
        return std::errc::invalid_argument;
      case FormatErrc::malformed:
        break;
    }
    return std::errc::io_error;
  }
};

}  // namespace

const std::error_category& format_category() noexcept {
  static const FormatCategory category;
  return category;
}

std::error_code make_error_code(FormatErrc e) noexcept {
  return {static_cast<int>(e), format_category()};
}

Error::Error(FormatErrc code, std::string context)
    : std::system_error(make_error_code(code)), context_(std::move(context)) {}

void throw_malformed(std::string context) {
  throw Error(FormatErrc::malformed, std::move(context));
}

void throw_unsupported(std::string context) {
  throw Error(FormatErrc::unsupported, std::move(context));
}

}  // namespace bloscfs::codec
