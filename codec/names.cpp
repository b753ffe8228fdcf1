#include "codec/names.hpp"

#include <vector>

#include "codec/compressor/codec_table.hpp"
#include "codec/filter/filter_table.hpp"

namespace bloscfs::codec {
namespace {

std::string numbered(const char* kind, unsigned id) { return kind + std::to_string(id); }

std::string listed(const std::vector<std::string>& names, std::string_view conjunction) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : " " + std::string(conjunction) + " ";
    text += names[i];
  }
  return text;
}

}  // namespace

std::string codec_name(CodecId id) {
  const CodecRow* const codec = find_codec(id);
  return codec != nullptr ? codec->name : numbered("codec", static_cast<unsigned>(id));
}

std::string filter_name(FilterId id) {
  const FilterRow* const filter = find_filter(id);
  return filter != nullptr ? filter->name : numbered("filter", static_cast<unsigned>(id));
}

std::string list_written_codecs(std::string_view conjunction, Loss most) {
  std::vector<std::string> names;
  for (const CodecRow& row : codec_rows())
    if (row.make_compressor != nullptr && row.loss <= most)
      names.push_back(std::string(row.name) + row.parameter);
  return listed(names, conjunction);
}

std::string list_dictionary_codecs(std::string_view conjunction) {
  std::vector<std::string> names;
  for (const CodecRow& row : codec_rows())
    if (row.make_compressor != nullptr && row.takes_dictionary) names.emplace_back(row.name);
  return listed(names, conjunction);
}

std::string list_written_filters(std::string_view conjunction, Loss most) {
  std::vector<std::string> names;
  for (const FilterRow& row : filter_rows())
    if (row.apply != nullptr && row.loss <= most)
      names.push_back(std::string(row.name) + row.parameter);
  return listed(names, conjunction);
}

}  // namespace bloscfs::codec
