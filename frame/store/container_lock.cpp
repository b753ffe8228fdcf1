#include "frame/store/container_lock.hpp"

#include <cerrno>
#include <system_error>

namespace bloscfs::frame::inline store {

ContainerLock lock_container(StoreFile& file, StoreDirectory& directory, const std::string& sidecar,
                             bool create) {
  std::shared_ptr<void> own = file.lock();
  if (create && !directory.stamp(sidecar)) {
    try {
      // All users who may open the frame may lock it.
      FileAttributes attributes = file.attributes();
      attributes.extended.clear();
      attributes.mode &= 0666;
      directory.create(sidecar, 0600)->set_attributes(attributes);
    } catch (const std::system_error& error) {
      if (error.code().value() != EEXIST) throw;
    }
  }
  return {std::move(own), PeerLock::Exclusive(PeerLock::open(directory.descriptor(), sidecar))};
}

}  // namespace bloscfs::frame::inline store
