#include "tools/text_output.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "tools/item_text.hpp"
#include "tools/progress.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::int64_t kBytesOfItems = std::int64_t{1} << 20;
/// Lines are written in parts of about this size.
constexpr std::size_t kTextSize = std::size_t{1} << 18;

ItemText text_of(const Elements& elements) {
  const std::string dtype =
      elements.dtype().value_or(elements.shape() ? "" : fmt::format("<u{}", elements.itemsize()));
  if (auto text = item_text(dtype, TextStyle::columns)) return text;
  if (elements.dtype()) codec::throw_unsupported("no text for items of " + *elements.dtype());
  codec::throw_unsupported(fmt::format("no text for items of {} bytes without a dtype{}",
                                       elements.itemsize(),
                                       elements.shape() ? "" : "; --dtype says what they are"));
}

std::int64_t line_length(const Elements& elements) {
  const auto& shape = elements.shape();
  return shape && shape->size() > 1 ? std::max<std::int64_t>(1, shape->back()) : 1;
}

void flush(std::string& text, OutputFile& out) {
  out.write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  text.clear();
}

}  // namespace

void write_text(Elements& elements, const ItemRange& range, OutputFile& out) {
  const ItemText append = text_of(elements);
  const std::int64_t length = line_length(elements);
  const auto size = static_cast<std::size_t>(elements.itemsize());
  const std::int64_t at_once = std::max<std::int64_t>(1, kBytesOfItems / elements.itemsize());
  Progress progress("cat", range.end - range.first, Progress::Unit::items);
  std::vector<std::uint8_t> items;
  std::string text;
  for (std::int64_t first = range.first; first < range.end; first += at_once) {
    const std::int64_t end = std::min(range.end, first + at_once);
    items.resize(static_cast<std::size_t>(end - first) * size);
    elements.read(first * elements.itemsize(), items);
    codec::Bytes rest = items;
    for (std::int64_t item = first; item < end; item++, rest = rest.subspan(size)) {
      append(rest.first(size), text);
      text += (item + 1) % length == 0 || item + 1 == range.end ? '\n' : ' ';
      if (text.size() >= kTextSize) flush(text, out);
    }
    progress.update(end - range.first);
  }
  flush(text, out);
  const std::int64_t cut = elements.nbytes() % elements.itemsize();
  if (cut != 0 && range.end == elements.count())
    codec::throw_malformed(fmt::format("ends with {} bytes, which are no whole item", cut));
}

}  // namespace bloscfs::tools
