#include "tools/metalayer_file.hpp"

#include <cerrno>
#include <limits>

#include <fmt/core.h>
#include <unistd.h>

#include "frame/header/msgpack_json.hpp"
#include "fs/support/file_error.hpp"
#include "tools/input.hpp"
#include "tools/raw_input.hpp"

namespace bloscfs::tools {
namespace {

/// The format stores the size of contents in 31 bits.
constexpr std::size_t kMaxContent = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kReadPiece = std::size_t{1} << 20;

std::vector<std::uint8_t> read_all(const std::string& path) {
  RawInput input(path);
  std::vector<std::uint8_t> bytes;
  for (std::size_t got = kReadPiece; got == kReadPiece;) {
    const std::size_t filled = bytes.size();
    if (filled > kMaxContent) throw FileError(path, EFBIG);
    bytes.resize(filled + kReadPiece);
    got = input.read(codec::MutableBytes(bytes).subspan(filled));
    bytes.resize(filled + got);
  }
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> read_metalayer_file(const std::string& path) {
  std::vector<std::uint8_t> bytes = read_all(path);
  if (!path.ends_with(".json")) return bytes;
  try {
    return frame::json_to_msgpack(bytes);
  } catch (const std::exception& error) {
    throw FileError(path, error.what());
  }
}

std::vector<std::uint8_t> content_of(const NamedLayer& layer) {
  if (layer.content) return *layer.content;
  if (layer.file != "-" && ::access(layer.file.c_str(), F_OK) != 0 && errno == ENOENT)
    throw FileError(layer.file, fmt::format("No such file. {0}=FILE stores the bytes of a file; "
                                            "'{0}:=\"{1}\"' stores the text itself",
                                            layer.name, layer.file));
  return read_metalayer_file(layer.file);
}

std::vector<std::uint8_t> msgpack_of(const std::string& json) {
  return frame::json_to_msgpack({reinterpret_cast<const std::uint8_t*>(json.data()), json.size()});
}

}  // namespace bloscfs::tools
