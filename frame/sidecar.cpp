#include "frame/sidecar.hpp"

#include <cerrno>
#include <system_error>

namespace bloscfs::frame {

PeerLock::Exclusive lock_exclusively(StoreDirectory& directory, const std::string& name,
                                     bool create) {
  if (create && !directory.stamp(name)) {
    try {
      directory.create(name, 0666);
    } catch (const std::system_error& error) {
      if (error.code().value() != EEXIST) throw;
    }
  }
  return PeerLock::Exclusive(PeerLock::open(directory.descriptor(), name));
}

}  // namespace bloscfs::frame
