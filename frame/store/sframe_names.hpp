#pragma once
// Names inside a sparse frame's directory (frame/formats/sframe.md, "Files").

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "frame/store/peer_lock.hpp"

namespace bloscfs::frame::inline store {

/// The file that makes a directory a sparse frame.
inline constexpr char kSframeIndexName[] = "chunks.b2frame";
inline constexpr const char* kSframeLockName = kSidecarSuffix;

inline std::string chunk_file_name(std::uint32_t number) {
  return fmt::format("{:08X}.chunk", number);
}

/// Returns the number in the name of a chunk file, or nothing for other names.
inline std::optional<std::uint32_t> chunk_file_number(std::string_view name) {
  constexpr std::size_t kDigits = 8;
  if (name.size() <= kDigits) return std::nullopt;
  std::uint32_t number = 0;
  for (const char digit : name.substr(0, kDigits)) {
    const auto value = std::string_view("0123456789ABCDEF").find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    number = number << 4 | static_cast<std::uint32_t>(value);
  }
  if (name != chunk_file_name(number)) return std::nullopt;
  return number;
}

/// True for the files that make up a sparse frame.
inline bool is_sframe_file(std::string_view name) {
  return name == kSframeIndexName || name == kSframeLockName || chunk_file_number(name);
}

}  // namespace bloscfs::frame::inline store
