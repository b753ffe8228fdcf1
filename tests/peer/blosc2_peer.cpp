#include "tests/peer/blosc2_peer.hpp"

#include <stdexcept>

#include <dlfcn.h>

namespace bloscfs::test {

template <typename Function>
void Blosc2::load(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(handle_, name));
  if (function == nullptr) throw std::runtime_error(std::string("no function ") + name);
}

Blosc2::Blosc2(const std::string& library)
    : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error(dlerror());
  load(schunk_new, "blosc2_schunk_new");
  load(schunk_open, "blosc2_schunk_open");
  load(schunk_free, "blosc2_schunk_free");
  load(append_buffer, "blosc2_schunk_append_buffer");
  load(decompress_chunk, "blosc2_schunk_decompress_chunk");
  load(get_chunk, "blosc2_schunk_get_chunk");
  load(meta_add, "blosc2_meta_add");
  load(vlmeta_add, "blosc2_vlmeta_add");
  load(array_context, "b2nd_create_ctx");
  load(array_free_context, "b2nd_free_ctx");
  load(array_from_buffer, "b2nd_from_cbuffer");
  load(array_open, "b2nd_open");
  load(array_to_buffer, "b2nd_to_cbuffer");
  load(array_free, "b2nd_free");
  load(create_cctx, "blosc2_create_cctx");
  load(create_dctx, "blosc2_create_dctx");
  load(free_ctx, "blosc2_free_ctx");
  load(compress_ctx, "blosc2_compress_ctx");
  load(decompress_ctx, "blosc2_decompress_ctx");
  load(getitem_ctx, "blosc2_getitem_ctx");
  load(cbuffer_sizes, "blosc2_cbuffer_sizes");
  load(register_codec, "blosc2_register_codec");
  void (*init)() = nullptr;
  load(init, "blosc2_init");
  init();
}

Blosc2::~Blosc2() {
  void (*destroy)() = nullptr;
  load(destroy, "blosc2_destroy");
  destroy();
}

}  // namespace bloscfs::test
