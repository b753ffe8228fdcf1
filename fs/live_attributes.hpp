#pragma once
// What a content that is being written tells of itself before SOURCE does.

#include <cstdint>
#include <optional>

#include <time.h>

namespace bloscfs::fs {

/// Attributes that take the place of the source file's.
struct LiveState {
  std::int64_t size = 0;
  timespec modified{};
  timespec changed{};
};

/// Thread-safe. While such an object exists its node stands for the content, whatever commits make
/// of the source file.
class LiveAttributes {
 public:
  virtual ~LiveAttributes() = default;
  /// nullopt while the source file's own are right. Takes no lock that is held over a commit.
  virtual std::optional<LiveState> live_state() const = 0;
};

}  // namespace bloscfs::fs
