#include "frame/container_lock.hpp"

#include <cerrno>
#include <system_error>

namespace bloscfs::frame {

ContainerLock lock_container(StoreFile& file, StoreDirectory& directory, const std::string& sidecar,
                             bool create) {
  std::shared_ptr<void> own = file.lock();
  if (create && !directory.stamp(sidecar)) {
    try {
      directory.create(sidecar, 0666);
    } catch (const std::system_error& error) {
      if (error.code().value() != EEXIST) throw;
    }
  }
  return {std::move(own), PeerLock::Exclusive(PeerLock::open(directory.descriptor(), sidecar))};
}

}  // namespace bloscfs::frame
