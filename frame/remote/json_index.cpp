#include "frame/remote/json_index.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame::inline remote {
namespace {

/// nginx writes names as raw bytes, but the parser accepts only UTF-8. Each byte beyond ASCII is
/// therefore replaced by a private character, U+F0080 to U+F00FF, whose UTF-8 begins with these
/// bytes.
constexpr std::string_view kPrivateArea = "\xF3\xB0";
constexpr std::size_t kPrivateSize = 4;

/// Iterates over a page's bytes in the form that the parser gets.
class PrivateBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit PrivateBytes(const std::uint8_t* at) : at_(at) {}

  char operator*() const {
    const std::uint8_t byte = *at_;
    if (byte < 0x80) return static_cast<char>(byte);
    if (step_ < kPrivateArea.size()) return kPrivateArea[step_];
    const unsigned bits = step_ == 2 ? byte >> 6 : byte & 0x3FU;
    return static_cast<char>(0x80U | bits);
  }
  PrivateBytes& operator++() {
    if (*at_ >= 0x80 && ++step_ < kPrivateSize) return *this;
    step_ = 0;
    ++at_;
    return *this;
  }
  bool operator==(const PrivateBytes&) const = default;

 private:
  const std::uint8_t* at_;
  std::size_t step_ = 0;
};

/// Reverses PrivateBytes: returns the bytes that the private characters stand for.
std::string public_bytes(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); i++) {
    const unsigned third =
        text.size() - i >= kPrivateSize ? static_cast<unsigned char>(text[i + 2]) : 0U;
    if ((third == 0x82 || third == 0x83) && text.substr(i).starts_with(kPrivateArea)) {
      const auto fourth = static_cast<unsigned char>(text[i + 3]);
      result += static_cast<char>((third & 3U) << 6 | (fourth & 0x3FU));
      i += kPrivateSize - 1;
    } else {
      result += text[i];
    }
  }
  return result;
}

/// Receives the parser's events. Returning false stops the parser.
class IndexEvents {
 public:
  explicit IndexEvents(IndexNames& names) : names_(names) {}

  bool null() { return is_in_entry(); }
  bool boolean(bool) { return is_in_entry(); }
  bool number_integer(std::int64_t) { return is_in_entry(); }
  bool number_unsigned(std::uint64_t) { return is_in_entry(); }
  bool number_float(double, const std::string&) { return is_in_entry(); }
  bool binary(const nlohmann::json::binary_t&) { return false; }

  bool string(std::string& text) {
    if (depth_ == kEntry && key_ == "name")
      name_ = std::move(text);
    else if (depth_ == kEntry && key_ == "type")
      type_ = std::move(text);
    return is_in_entry();
  }

  bool start_object(std::size_t) {
    if (depth_ == 0) return false;
    if (++depth_ == kEntry) name_ = type_ = key_ = {};
    return true;
  }
  bool key(std::string& text) {
    if (depth_ == kEntry) key_ = std::move(text);
    return true;
  }
  bool end_object() {
    if (depth_-- != kEntry) return true;
    if (name_.empty() || type_.empty()) return false;
    // Other types are sockets and the like.
    if (type_ == "file" || type_ == "directory")
      names_.add(public_bytes(name_), type_ == "directory");
    return true;
  }

  /// Refuses an array directly inside the list, whose elements are objects.
  bool start_array(std::size_t) { return depth_++ != 1; }
  bool end_array() {
    depth_--;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
    return false;
  }

 private:
  /// The depth inside the list and one of its objects.
  static constexpr std::size_t kEntry = 2;
  bool is_in_entry() const { return depth_ >= kEntry; }

  IndexNames& names_;
  std::size_t depth_ = 0;
  std::string key_, name_, type_;
};

}  // namespace

void read_json_index(Bytes page, IndexNames& names) {
  constexpr std::array<std::uint8_t, 3> kByteOrderMark = {0xEF, 0xBB, 0xBF};
  if (page.size() >= kByteOrderMark.size() &&
      std::equal(kByteOrderMark.begin(), kByteOrderMark.end(), page.begin()))
    page = page.subspan(kByteOrderMark.size());
  IndexEvents events(names);
  const std::uint8_t* begin = page.data();
  if (!nlohmann::json::sax_parse(PrivateBytes(begin), PrivateBytes(begin + page.size()), &events))
    throw RemoteError(ENOTDIR, "the answer is not an index page: its JSON is not a list of files");
}

}  // namespace bloscfs::frame::inline remote
