#include "frame/python/utf8.hpp"

namespace bloscfs::frame::inline python {
namespace {

struct LeadByte {
  std::size_t length;  ///< of the whole sequence; 0 if the byte starts none
  char32_t bits;
  char32_t smallest;  ///< smallest code point that needs this many bytes
};

LeadByte classify(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if (byte >= 0xC0 && byte < 0xE0) return {2, byte & 0x1Fu, 0x80};
  if (byte >= 0xE0 && byte < 0xF0) return {3, byte & 0x0Fu, 0x800};
  if (byte >= 0xF0 && byte < 0xF8) return {4, byte & 0x07u, 0x10000};
  return {0, 0, 0};
}

bool is_scalar_value(char32_t code_point) {
  return code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF);
}

}  // namespace

std::optional<char32_t> take_code_point(std::string_view& rest) {
  const LeadByte lead = classify(static_cast<unsigned char>(rest[0]));
  if (lead.length == 0 || lead.length > rest.size()) return std::nullopt;
  char32_t code_point = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(rest[i]);
    if ((byte & 0xC0) != 0x80) return std::nullopt;
    code_point = (code_point << 6) | (byte & 0x3Fu);
  }
  if (code_point < lead.smallest || !is_scalar_value(code_point)) return std::nullopt;
  rest.remove_prefix(lead.length);
  return code_point;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (!take_code_point(text)) return false;
  }
  return true;
}

bool append_utf8(std::string& text, char32_t code_point) {
  if (!is_scalar_value(code_point)) return false;
  const auto put = [&text](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto put_tail = [&](int shift) { put(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put_tail(0);
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put_tail(6);
    put_tail(0);
  } else {
    put(0xF0 | (code_point >> 18));
    put_tail(12);
    put_tail(6);
    put_tail(0);
  }
  return true;
}

}  // namespace bloscfs::frame::inline python
