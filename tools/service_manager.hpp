#pragma once
// What systemd, or whoever else has started the program as a service, is told: by the datagrams
// that sd_notify(3) describes.

#include <string>

#include "frame/store/byte_source.hpp"

namespace bloscfs::tools {

/// Looks once for who wants to know (NOTIFY_SOCKET), and hides that from programs that are started
/// later. Needs no paths and no connecting afterwards, so that it works inside the sandbox.
class ServiceManager {
 public:
  ServiceManager();
  /// Lines of the form NAME=VALUE. Where nobody listens, or no longer, nothing happens.
  void tell(const std::string& lines) const;

 private:
  frame::UniqueFd socket_;
};

}  // namespace bloscfs::tools
