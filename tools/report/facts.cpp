#include "tools/report/facts.hpp"

#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "codec/loss.hpp"
#include "fs/view/file_view.hpp"
#include "tools/report/words.hpp"

namespace bloscfs::tools {
namespace {

using frame::FrameInfo;

class List {
 public:
  template <typename Value>
  void add(const char* name, const Value& value) {
    rows_.add("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
  }
  Markup finish() const { return markup("<dl class=\"facts\">\n{}</dl>\n", rows_); }

 private:
  Markup rows_;
};

std::string exact_size(std::int64_t bytes) {
  return bytes < 1024 ? size_in_words(bytes)
                      : fmt::format("{} ({} bytes)", size_in_words(bytes), grouped(bytes));
}

std::string element_text(const FrameInfo& info) {
  if (!info.array || !info.array->dtype)
    return "items of " + counted(info.typesize, "byte", "bytes");
  return "elements of type " + type_name(*info.array->dtype);
}

/// Returns the size of the contents as readers see them: an array without padding.
std::int64_t content_size(const FrameInfo& info) { return fs::view_shape(info, true).content_size; }

void add_array(const frame::ArrayInfo& array, List& list) {
  list.add("Shape", shape_text(array.shape));
  if (array.dtype)
    list.add("Type of elements", fmt::format("{} ({})", type_name(*array.dtype), *array.dtype));
  if (array.fortran_order) list.add("Order", "Fortran: the first index varies fastest");
}

void add_compression(const FrameInfo& info, List& list) {
  if (info.codec) {
    std::string codec = codec_text(*info.codec);
    if (info.codec_meta != 0) codec += fmt::format(", parameter {}", info.codec_meta);
    list.add("Codec", codec + fmt::format(", level {}", info.clevel));
    Markup filters;
    for (const codec::FilterStep& step : info.filters)
      if (step.id != codec::FilterId::none)
        filters.add("{}{}", filters.empty() ? Markup() : markup("<br/>"), filter_text(step));
    if (filters.empty()) filters.add("none");
    list.add("Filters", filters);
    if (info.use_dict) list.add("Dictionaries", "one for each chunk");
    if (codec::loss_of(*info.codec, info.filters) != codec::Loss::none)
      list.add("Loss", "lossy: values are not stored exactly");
  }
  if (!info.checksum.empty()) list.add("Checksums", info.checksum);
}

/// Returns "100 × 140 elements, 54.7 KiB (56 000 bytes)". `extents` are empty if there is no array.
std::string part_text(const std::vector<std::int32_t>& extents, std::int32_t size) {
  std::string text = extents.empty() ? "" : shape_text(extents) + " elements";
  if (size > 0) text += (text.empty() ? "" : ", ") + exact_size(size);
  return text;
}

void add_layout(const FrameInfo& info, List& list) {
  static const frame::ArrayInfo kNoArray;
  const frame::ArrayInfo& array = info.array ? *info.array : kNoArray;
  list.add("Number of chunks", grouped(info.nchunks));
  list.add("Chunk", info.variable_chunks ? "each has its own size"
                                         : part_text(array.chunkshape, info.chunksize));
  list.add("Block", info.vl_blocks        ? "each has its own size"
                    : info.blocksize <= 0 ? "chosen for each chunk"
                                          : part_text(array.blockshape, info.blocksize));
  list.add(info.array ? "Element" : "Item", exact_size(info.typesize));
}

std::string time_text(const frame::FileStamp& stamp) {
  const std::time_t seconds = stamp.mtime_s;
  std::tm utc{};
  // Years of more than four digits are certainly errors.
  if (::gmtime_r(&seconds, &utc) == nullptr || utc.tm_year > 8099 || utc.tm_year < -1900) return "";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", utc);
}

std::string lead(const FrameInfo& info) {
  std::string text = "A " + kind_text(info) + ". ";
  if (!info.array)
    text += fmt::format("It holds {}, and does not say what they mean.",
                        info.typesize == 1 ? "bytes" : element_text(info));
  else if (info.array->shape.empty())
    text += "It holds a single element.";
  else
    text +=
        fmt::format("It holds an array: {} {}.", shape_text(info.array->shape), element_text(info));
  return text;
}

Markup sizes(const FrameInfo& info, std::int64_t stored) {
  const std::int64_t contents = content_size(info);
  if (stored <= 0) return {};
  return markup(
      "<p class=\"sizes\"><span><b>{}</b> of contents</span> <span><b>{}</b> stored</span> "
      "<span><b>{}</b> ratio</span></p>\n",
      size_in_words(contents), size_in_words(stored),
      ratio_text(static_cast<double>(contents) / static_cast<double>(stored)));
}

List common_list(const FrameInfo& info) {
  List list;
  if (info.array) add_array(*info.array, list);
  add_layout(info, list);
  add_compression(info, list);
  return list;
}

}  // namespace

Markup facts(const frame::Snapshot& snapshot) {
  const FrameInfo& info = snapshot.info();
  const std::int64_t stored = info.is_directory() ? info.cbytes + info.frame_len : info.frame_len;
  List list = common_list(info);
  list.add("Contents", exact_size(content_size(info)));
  list.add("Stored", exact_size(stored));
  list.add(info.is_frame() ? "Version of the frame" : "Version of the format", info.format_version);
  const std::string time = snapshot.stamp().inode == 0 ? "" : time_text(snapshot.stamp());
  if (!time.empty()) list.add("Modified", time);
  return markup("<p class=\"lead\">{}</p>\n{}{}", lead(info), sizes(info, stored), list.finish());
}

Markup facts(const FrameInfo& info) {
  return markup("<p class=\"lead\">{}</p>\n{}", lead(info), common_list(info).finish());
}

}  // namespace bloscfs::tools
