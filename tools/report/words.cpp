#include "tools/report/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codec/names.hpp"
#include "frame/python/utf8.hpp"
#include "fs/numpy/numpy_scalar.hpp"

namespace bloscfs::tools {
namespace {

constexpr const char* kNarrowSpace = "\u202f";

template <typename Id>
struct Word {
  Id id;
  const char* text;
};

using codec::CodecId;
using codec::FilterId;

constexpr std::array<Word<CodecId>, 10> kCodecs{{
    {CodecId::blosclz, "BloscLZ"},
    {CodecId::lz4, "LZ4"},
    {CodecId::lz4hc, "LZ4 HC"},
    {CodecId::snappy, "Snappy"},
    {CodecId::zlib, "zlib (deflate)"},
    {CodecId::zstd, "Zstandard"},
    {CodecId::ndlz, "NDLZ, for two dimensions"},
    {CodecId::zfp_accuracy, "ZFP of fixed accuracy"},
    {CodecId::zfp_precision, "ZFP of fixed precision"},
    {CodecId::zfp_rate, "ZFP of fixed rate"},
}};

constexpr std::array<Word<FilterId>, 9> kFilters{{
    {FilterId::shuffle, "groups the first bytes of all items, then the second ones, and so on"},
    {FilterId::bitshuffle, "groups the first bits of all items, then the second ones, and so on"},
    {FilterId::delta, "stores differences from the first block"},
    {FilterId::trunc_prec, "drops low bits of floating-point numbers"},
    {FilterId::int_trunc, "drops low bits of integers"},
    {FilterId::ndcell, "orders elements by small cells"},
    {FilterId::ndmean, "replaces small cells by their means"},
    {FilterId::bytedelta, "stores differences between neighbouring bytes"},
    {FilterId::bytedelta_old, "stores differences between neighbouring bytes"},
}};

template <typename Table, typename Id>
const char* find_word(const Table& table, Id id) {
  const auto found =
      std::find_if(table.begin(), table.end(), [id](const auto& word) { return word.id == id; });
  return found == table.end() ? nullptr : found->text;
}

}  // namespace

std::string grouped(std::int64_t number) {
  const std::string digits = fmt::format("{}", number);
  const std::size_t sign = number < 0 ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); i++) {
    if (i > sign && (digits.size() - i) % 3 == 0) text += kNarrowSpace;
    text += digits[i];
  }
  return text;
}

std::string counted(std::int64_t number, const char* one, const char* many) {
  return grouped(number) + " " + (number == 1 ? one : many);
}

std::string size_in_words(std::int64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return counted(bytes, "byte", "bytes");
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; size >= 1023.5 && unit + 1 < kUnits.size(); unit++) size /= 1024;
  return fmt::format("{:.{}f}{}{}", size, size < 99.95 ? 1 : 0, "\u00a0", kUnits[unit]);
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.{}f}\u202f:\u202f1", ratio, ratio < 9.95 ? 2 : ratio < 99.5 ? 1 : 0);
}

std::string number_text(double number) {
  const std::string text = fmt::format("{:.6g}", number);
  return text[0] == '-' ? "\u2212" + text.substr(1) : text;
}

template <typename Extent>
std::string shape_text(const std::vector<Extent>& shape) {
  std::string text;
  for (const Extent extent : shape) text += (text.empty() ? "" : " \u00d7 ") + grouped(extent);
  return text.empty() ? "one element" : text;
}
template std::string shape_text(const std::vector<std::int32_t>& shape);
template std::string shape_text(const std::vector<std::int64_t>& shape);

std::string type_name(const std::string& dtype) {
  const auto scalar = fs::parse_numpy_scalar(dtype);
  if (!scalar || scalar->text.size() < 3) return dtype;
  const std::int64_t size = scalar->itemsize;
  const char* const big = scalar->text[0] == '>' ? ", big-endian" : "";
  const std::string_view unit = std::string_view(scalar->text).substr(3);
  switch (scalar->text[1]) {
    case 'b':
      return "bool";
    case 'i':
      return fmt::format("int{}{}", 8 * size, big);
    case 'u':
      return fmt::format("uint{}{}", 8 * size, big);
    case 'f':
      return fmt::format("float{}{}", 8 * size, big);
    case 'c':
      return fmt::format("complex{}{}", 8 * size, big);
    case 'M':
      return fmt::format("datetime64{}{}", unit, big);
    case 'm':
      return fmt::format("timedelta64{}{}", unit, big);
    case 'U':
      return "text of " + counted(size / 4, "character", "characters") + big;
    case 'S':
      return "text of " + counted(size, "byte", "bytes");
    default:
      return dtype;
  }
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && end + 4 > most && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) end--;
  return fmt::format("{}\u2026 ({} bytes)", text.substr(0, end), grouped(std::ssize(text)));
}

std::string place_text(const std::vector<std::int64_t>& place) {
  return fmt::format("({})", fmt::join(place, ", "));
}

std::string codec_text(CodecId id) {
  const char* const word = find_word(kCodecs, id);
  const std::string name = codec::codec_name(id);
  return word != nullptr ? fmt::format("{} [{}]", word, name) : name;
}

std::string filter_text(const codec::FilterStep& step) {
  const char* const word = find_word(kFilters, step.id);
  std::string name = codec::filter_name(step.id);
  if (step.meta != 0) name += fmt::format(":{}", step.meta);
  return word != nullptr ? fmt::format("{}: {}", name, word) : name;
}

std::string kind_text(const frame::FrameInfo& info) {
  if (info.is_directory()) return "sparse frame, which is a directory with a file for each chunk";
  if (info.is_frame()) return "contiguous frame, which is one file";
  return "Bloscpack file";
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:+,@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  const bool is_safe =
      !text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), is_plain);
  if (is_safe) return text;
  std::string word = text[0] == '-' ? "./'" : "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string python_text(const std::string& text) {
  std::string literal = frame::is_utf8(text) ? "\"" : "b\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      literal += {'\\', c};
    else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && literal[0] == 'b'))
      literal += fmt::format("\\x{:02x}", byte);
    else
      literal += c;
  }
  return literal + "\"";
}

}  // namespace bloscfs::tools
