#pragma once
// The reach of addresses. A redirect must not lead from a public address to one that only insiders
// can reach.

#include <cstdint>
#include <string>

#include <sys/socket.h>

namespace bloscfs::frame::inline remote {

/// From the narrowest to the widest.
enum class Reach : std::uint8_t {
  /// Loopback, and link-local addresses, where clouds serve credentials. Also what is not an
  /// address.
  own_host,
  /// All other addresses that are not routed publicly.
  private_network,
  everywhere
};

/// Of an IPv6 address that contains an IPv4 address, returns the reach of the latter.
Reach reach_of(const sockaddr& address);
/// `text` is a numeric address.
Reach reach_of(const std::string& text);

}  // namespace bloscfs::frame::inline remote
