#pragma once
// A FUSE session in which this process is the kernel. Requests go through libfuse and the mount's
// operations.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <linux/fuse.h>

#include "fs/fuse/kernel_channel.hpp"
#include "fs/fuse/kernel_readahead.hpp"
#include "fs/fuse/reply.hpp"

namespace bloscfs::fuzz {

/// Returns a structure of the protocol as bytes.
template <typename Part>
codec::Bytes as_bytes(const Part& part) {
  return {reinterpret_cast<const std::uint8_t*>(&part), sizeof part};
}

/// Returns a name and the NUL after it.
inline codec::Bytes as_bytes(const std::string& name) {
  return {reinterpret_cast<const std::uint8_t*>(name.c_str()), name.size() + 1};
}

/// Only one thread may use it. It lives as long as the process, since libfuse's session is set up
/// once.
class FuseChannel {
 public:
  /// The longest request and the longest reply, without headers.
  static constexpr std::size_t kMostBytes = std::size_t{128} << 10;

  FuseChannel();
  FuseChannel(const FuseChannel&) = delete;
  FuseChannel& operator=(const FuseChannel&) = delete;

  /// The state that the operations use. It must contain a filesystem during each request.
  fs::MountState& state() { return state_; }

  struct Reply {
    int error = 0;  ///< positive errno
    std::vector<std::uint8_t> bytes;

    /// Returns the first bytes as a structure. Bytes after the reply's end are zeros.
    template <typename Part>
    Part as() const {
      Part part{};
      std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof part),
                  reinterpret_cast<std::uint8_t*>(&part));
      return part;
    }
  };
  using Parts = std::initializer_list<codec::Bytes>;
  /// Sends a request of that user, whose group has the same number.
  Reply ask(std::uint32_t opcode, std::uint64_t node, const Parts& parts, uid_t user = 0);
  /// Sends a request that has no reply.
  void tell(std::uint32_t opcode, std::uint64_t node, const Parts& parts);

 private:
  std::uint64_t send(std::uint32_t opcode, std::uint64_t node, const Parts& parts, uid_t user);
  Reply receive(std::uint64_t unique);

  fs::RequestSlots slots_{1};
  fs::KernelReadahead kernel_readahead_{std::nullopt};
  fs::MountState state_;
  fs::PagePool pages_;
  std::optional<fs::KernelChannel> channel_;
  int kernel_ = -1;  ///< the end that requests are sent from
  std::uint64_t last_unique_ = 0;
  std::vector<std::uint8_t> message_;
};

}  // namespace bloscfs::fuzz
