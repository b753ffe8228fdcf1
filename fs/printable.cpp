#include "fs/printable.hpp"

#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>

#include "frame/utf8.hpp"

namespace bloscfs::fs {
namespace {

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

class PrintableFormatter final : public spdlog::formatter {
 public:
  PrintableFormatter(std::string pattern, std::string end)
      : pattern_(std::move(pattern)),
        end_(std::move(end)),
        formatter_(pattern_, spdlog::pattern_time_type::local, end_) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string text = printable({message.payload.data(), message.payload.size()});
    spdlog::details::log_msg shown = message;
    shown.payload = text;
    formatter_.format(shown, out);
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<PrintableFormatter>(pattern_, end_);
  }

 private:
  std::string pattern_, end_;
  spdlog::pattern_formatter formatter_;
};

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view before = text;
    const std::optional<char32_t> c = frame::take_code_point(text);
    if (c && !is_control(*c)) {
      out += before.substr(0, before.size() - text.size());
    } else if (c == U'\n') {
      out += "\\n";
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                     c ? static_cast<unsigned>(*c) : static_cast<unsigned char>(before[0]));
      if (!c) text.remove_prefix(1);
    }
  }
  return out;
}

std::unique_ptr<spdlog::formatter> printable_formatter(const std::string& pattern,
                                                       const std::string& end) {
  return std::make_unique<PrintableFormatter>(pattern, end);
}

}  // namespace bloscfs::fs
