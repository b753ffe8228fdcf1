#pragma once
// Sends notifications to systemd, or to another program that started this one as a service, in the
// datagrams of sd_notify(3).

#include <string>

#include "frame/store/byte_source.hpp"

namespace bloscfs::tools {

/// Reads NOTIFY_SOCKET once, and removes it from the environment of programs that are started
/// later. Later it needs no paths and no new connection, so it works inside the sandbox.
class ServiceManager {
 public:
  ServiceManager();
  /// Sends lines of the form NAME=VALUE. Does nothing if no program listens.
  void tell(const std::string& lines) const;

 private:
  frame::UniqueFd socket_;
};

}  // namespace bloscfs::tools
