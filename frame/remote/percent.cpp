#include "frame/remote/percent.hpp"

#include <cstddef>

namespace bloscfs::frame::inline remote {
namespace {

bool stands_for_itself(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~' || c == '/';
}

/// Returns 16 if the character is not a hex digit.
unsigned hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return 16;
}

}  // namespace

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string result;
  result.reserve(path.size());
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (stands_for_itself(c))
      result += c;
    else
      result += {'%', kDigits[byte >> 4], kDigits[byte & 15U]};
  }
  return result;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); i++) {
    const bool has_digits = text[i] == '%' && text.size() - i > 2;
    const unsigned high = has_digits ? hex_digit(text[i + 1]) : 16;
    const unsigned low = has_digits ? hex_digit(text[i + 2]) : 16;
    if (high < 16 && low < 16) {
      result += static_cast<char>(high << 4 | low);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace bloscfs::frame::inline remote
