#include "codec/library/late_library.hpp"

#include <stdexcept>

#include <dlfcn.h>

namespace bloscfs::codec {
namespace {

/// Which library it is tells more than any errno.
[[noreturn]] void throw_loader_error() { throw std::runtime_error(::dlerror()); }

}  // namespace

void LateLibrary::load() {
  if (handle_.load(std::memory_order_acquire) != nullptr) return;
  // Two threads get the same one.
  void* handle = ::dlopen(name_, RTLD_NOW | RTLD_NODELETE);
  if (handle == nullptr) throw_loader_error();
  handle_.store(handle, std::memory_order_release);
}

void* LateLibrary::find(const char* function) {
  load();
  void* found = ::dlsym(handle_.load(std::memory_order_acquire), function);
  if (found == nullptr) throw_loader_error();
  return found;
}

}  // namespace bloscfs::codec
