#include "frame/library/late_library.hpp"

#include <cerrno>
#include <system_error>

#include <dlfcn.h>

namespace bloscfs::frame {
namespace {

[[noreturn]] void throw_loader_error(int error) {
  throw std::system_error(error, std::generic_category(), ::dlerror());
}

}  // namespace

void LateLibrary::load() {
  if (handle_.load(std::memory_order_acquire) != nullptr) return;
  // Two threads get the same one.
  void* handle = ::dlopen(name_, RTLD_NOW | RTLD_NODELETE);
  if (handle == nullptr) throw_loader_error(ELIBACC);
  handle_.store(handle, std::memory_order_release);
}

void* LateLibrary::find(const char* function) {
  load();
  void* found = ::dlsym(handle_.load(std::memory_order_acquire), function);
  if (found == nullptr) throw_loader_error(ELIBBAD);
  return found;
}

}  // namespace bloscfs::frame
