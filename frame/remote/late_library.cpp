#include "frame/remote/late_library.hpp"

#include <cerrno>

#include <dlfcn.h>

#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame {

void LateLibrary::load() {
  if (handle_.load(std::memory_order_acquire) != nullptr) return;
  // Two threads get the same one.
  void* handle = ::dlopen(name_, RTLD_NOW | RTLD_NODELETE);
  if (handle == nullptr) throw RemoteError(ELIBACC, ::dlerror());
  handle_.store(handle, std::memory_order_release);
}

void* LateLibrary::find(const char* function) {
  load();
  void* found = ::dlsym(handle_.load(std::memory_order_acquire), function);
  if (found == nullptr) throw RemoteError(ELIBBAD, ::dlerror());
  return found;
}

}  // namespace bloscfs::frame
