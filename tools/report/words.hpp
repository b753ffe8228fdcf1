#pragma once
// Numbers and types as people read them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/chunk_format.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::tools {

/// Digits in groups of three: "28 800 000", with spaces at which no line is broken.
std::string grouped(std::int64_t number);
/// "1 chunk", "28 800 chunks".
std::string counted(std::int64_t number, const char* one, const char* many);
/// "27.5 MiB"; below a KiB in bytes.
std::string size_in_words(std::int64_t bytes);
/// "4.1 : 1"
std::string ratio_text(double ratio);
/// With six digits at most.
std::string number_text(double number);
/// "120 × 200 × 300"; "one element" for no dimensions.
template <typename Extent>
std::string shape_text(const std::vector<Extent>& shape);
/// A dtype of NumPy as its users say it: "float64", "uint16, big-endian", "text of 10 characters".
std::string type_name(const std::string& dtype);
/// At most so many bytes of a text, and how many it has.
std::string shortened(std::string_view text, std::size_t most);
/// "(3, 0, 12)"
std::string place_text(const std::vector<std::int64_t>& place);

/// "Zstandard (zstd)"
std::string codec_text(codec::CodecId id);
/// "shuffle: bytes of equal rank are put together"
std::string filter_text(const codec::FilterStep& step);
/// What a container is, as a noun phrase: "contiguous frame, which is one file".
std::string kind_text(const frame::FrameInfo& info);

/// For a shell of POSIX: in single quotes where it is needed.
std::string shell_word(const std::string& text);
/// A literal of Python.
std::string python_text(const std::string& text);

}  // namespace bloscfs::tools
