#pragma once
// Which addresses a redirect from the public network must not lead to.

#include <string>

#include <sys/socket.h>

namespace bloscfs::frame {

/// True for what is not routed publicly: loopback, private, link-local, shared, multicast and
/// reserved ranges, also where IPv6 wraps an IPv4 address, and for families other than these.
bool is_private_address(const sockaddr& address);

/// The same of an address in numbers; true for what is none.
bool is_private_address(const std::string& text);

}  // namespace bloscfs::frame
