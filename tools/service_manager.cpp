#include "tools/service_manager.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

namespace bloscfs::tools {
namespace {

/// Returns a socket that is connected to `name`: a path, or an abstract address behind an @.
/// Returns an empty descriptor if that fails.
frame::UniqueFd connected_to(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool is_abstract = name.starts_with('@');
  if (!(is_abstract || name.starts_with('/')) || name.size() >= sizeof address.sun_path) return {};
  std::copy(name.begin(), name.end(), address.sun_path);
  if (is_abstract) address.sun_path[0] = '\0';
  const std::size_t length = offsetof(sockaddr_un, sun_path) + name.size() + (is_abstract ? 0 : 1);
  frame::UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                           static_cast<socklen_t>(length)) != 0)
    return {};
  return socket;
}

}  // namespace

ServiceManager::ServiceManager() {
  const char* const name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr) return;
  socket_ = connected_to(name);
  ::unsetenv("NOTIFY_SOCKET");
}

void ServiceManager::tell(const std::string& lines) const {
  if (socket_) ::send(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace bloscfs::tools
