#pragma once
// Formats numbers and types for people.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/chunk_format.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::tools {

/// Groups digits by three: "28 800 000". The spaces are narrow, and do not break lines.
std::string grouped(std::int64_t number);
/// Returns "1 chunk", "28 800 chunks".
std::string counted(std::int64_t number, const char* one, const char* many);
/// Returns "27.5 MiB"; bytes below 1 KiB.
std::string size_in_words(std::int64_t bytes);
/// Returns "4.1 : 1".
std::string ratio_text(double ratio);
/// Formats a number with at most six significant digits.
std::string number_text(double number);
/// Returns "120 × 200 × 300"; "one element" for no dimensions.
template <typename Extent>
std::string shape_text(const std::vector<Extent>& shape);
/// Returns a NumPy dtype as its users say it: "float64", "uint16, big-endian", "text of 10
/// characters".
std::string type_name(const std::string& dtype);
/// Returns at most `most` bytes of a text. If the text is longer, adds how many bytes it has.
std::string shortened(std::string_view text, std::size_t most);
/// Returns "(3, 0, 12)".
std::string place_text(const std::vector<std::int64_t>& place);

/// Returns the common name and the format's name of a codec: "Zstandard [zstd]".
std::string codec_text(codec::CodecId id);
/// Returns the name of a filter and what it does: "delta: stores differences from the first block".
std::string filter_text(const codec::FilterStep& step);
/// Returns the kind of a container as a noun phrase: "contiguous frame, which is one file".
std::string kind_text(const frame::FrameInfo& info);

/// Quotes a text for a POSIX shell if it needs quotes.
std::string shell_word(const std::string& text);
/// Returns a literal of Python.
std::string python_text(const std::string& text);

}  // namespace bloscfs::tools
