#include "tools/promised_format.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

#include "frame/header/object_list.hpp"
#include "tools/view_output.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::array<std::string_view, 5> kTextSuffixes{".csv", ".tsv", ".txt", ".json", ".jsonl"};

struct Magic {
  std::string_view suffix, bytes;
};
constexpr std::array<Magic, 2> kMagics{{{".npy", "\x93NUMPY"}, {".npz", "PK\x03\x04"}}};

[[noreturn]] void refuse(std::string_view suffix, const char* instead) {
  throw UsageError(
      fmt::format("cannot be written as {}: {}; --raw writes the bytes", suffix, instead));
}

/// The bytes of a flat frame from `offset` on, under a name with the suffix.
void require_contents_of(std::string_view suffix, const Input& input, std::int64_t offset) {
  const bool becomes_text = std::ranges::find(kTextSuffixes, suffix) != kTextSuffixes.end();
  const bool has_magic = std::ranges::find(kMagics, suffix, &Magic::suffix) != kMagics.end();
  if (!becomes_text && !has_magic) return;
  const auto start = contents_at(input, offset, kTextStart);
  for (const Magic& magic : kMagics)
    if (magic.suffix == suffix &&
        !std::string_view(reinterpret_cast<const char*>(start.data()), start.size())
             .starts_with(magic.bytes))
      refuse(suffix, "it holds bytes that do not begin like such a file");
  if (becomes_text && !is_text(start)) refuse(suffix, "it holds bytes that are no text");
}

}  // namespace

void keep_promise(ExtractOptions& options, const Input& input) {
  if (options.raw || options.json || options.text || !options.dtype.empty()) return;
  const std::size_t dot = options.output.find_last_of("./");
  if (dot == std::string::npos || options.output[dot] == '/') return;
  const std::string_view suffix = std::string_view(options.output).substr(dot);
  const bool is_json = suffix == ".json" || suffix == ".jsonl";
  if (is_json && frame::object_list_of(input.snapshot())) {
    options.json = true;
  } else if (!input.info().array) {
    if (!options.npy) require_contents_of(suffix, input, options.offset);
  } else if (options.npy) {
    return;
  } else if (suffix == ".txt") {
    options.text = true;
  } else if (suffix == ".tsv" || suffix == ".npz" || is_json) {
    refuse(suffix, "an array becomes a .npy, .csv or .txt");
  }
}

}  // namespace bloscfs::tools
