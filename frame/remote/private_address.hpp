#pragma once
// Where addresses are, since a redirect must not lead from outside to what only insiders reach.

#include <cstdint>
#include <string>

#include <sys/socket.h>

namespace bloscfs::frame::inline remote {

/// From the narrowest to the widest.
enum class Reach : std::uint8_t {
  own_host,         ///< loopback and link-local, where clouds keep credentials; no address at all
  private_network,  ///< all else that is not routed publicly
  everywhere
};

/// Also where IPv6 wraps an IPv4 address.
Reach reach_of(const sockaddr& address);
/// Of an address in numbers.
Reach reach_of(const std::string& text);

}  // namespace bloscfs::frame::inline remote
