#include "frame/remote/private_address.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace bloscfs::frame::inline remote {
namespace {

struct Ipv4Range {
  std::uint32_t start;
  int prefix;
};

constexpr Ipv4Range kOwnHostIpv4[] = {
    {0x00000000, 8},   // this network
    {0x7F000000, 8},   // loopback
    {0xA9FE0000, 16},  // link-local
};

constexpr Ipv4Range kPrivateIpv4[] = {
    {0x0A000000, 8},   // private
    {0x64400000, 10},  // shared by carriers
    {0xAC100000, 12},  // private
    {0xC0000000, 24},  // protocol assignments
    {0xC0A80000, 16},  // private
    {0xC6120000, 15},  // benchmarks
    {0xE0000000, 3},   // multicast and reserved
};

Reach reach_of_ipv4(std::uint32_t address) {
  const auto is_in = [&](const auto& ranges) {
    return std::any_of(std::begin(ranges), std::end(ranges), [&](const Ipv4Range& range) {
      return (address ^ range.start) >> (32 - range.prefix) == 0;
    });
  };
  if (is_in(kOwnHostIpv4)) return Reach::own_host;
  return is_in(kPrivateIpv4) ? Reach::private_network : Reach::everywhere;
}

using Ipv6Bytes = std::array<std::uint8_t, 16>;

std::uint32_t ipv4_at(const Ipv6Bytes& bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
}

bool has_start(const Ipv6Bytes& bytes, std::initializer_list<std::uint8_t> start) {
  return std::equal(start.begin(), start.end(), bytes.begin());
}

Reach reach_of_ipv6(const in6_addr& address) {
  Ipv6Bytes bytes{};
  std::memcpy(bytes.data(), &address, bytes.size());
  // Mapped, translated (NAT64) and tunnelled (6to4) addresses lead to the IPv4 address inside them.
  if (has_start(bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}) ||
      has_start(bytes, {0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0}))
    return reach_of_ipv4(ipv4_at(bytes, 12));
  if (has_start(bytes, {0x20, 0x02})) return reach_of_ipv4(ipv4_at(bytes, 2));
  // Loopback, the old form of IPv4 addresses in IPv6, and link-local.
  if (has_start(bytes, {0, 0, 0, 0, 0, 0, 0, 0}) || (bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80))
    return Reach::own_host;
  // All publicly routed addresses are in 2000::/3.
  return (bytes[0] & 0xE0) == 0x20 ? Reach::everywhere : Reach::private_network;
}

}  // namespace

Reach reach_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &address, sizeof ipv4);
    return reach_of_ipv4(ntohl(ipv4.sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return Reach::own_host;
  sockaddr_in6 ipv6{};
  std::memcpy(&ipv6, &address, sizeof ipv6);
  return reach_of_ipv6(ipv6.sin6_addr);
}

Reach reach_of(const std::string& text) {
  in_addr ipv4{};
  if (::inet_pton(AF_INET, text.c_str(), &ipv4) == 1) return reach_of_ipv4(ntohl(ipv4.s_addr));
  in6_addr ipv6{};
  return ::inet_pton(AF_INET6, text.c_str(), &ipv6) == 1 ? reach_of_ipv6(ipv6) : Reach::own_host;
}

}  // namespace bloscfs::frame::inline remote
