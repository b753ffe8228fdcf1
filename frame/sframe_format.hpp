#pragma once
// Names inside a sparse frame's directory (formats/sframe.md 1 and 3).

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace bloscfs::frame {

inline constexpr char kSframeIndexName[] = "chunks.b2frame";
inline constexpr char kSframeLockName[] = ".b2lock";

inline std::string chunk_file_name(std::uint32_t number) {
  return fmt::format("{:08X}.chunk", number);
}

}  // namespace bloscfs::frame
