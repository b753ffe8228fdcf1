// usage: frame_editor LIBRARY REQUEST
// Reads and changes a frame with C-Blosc2 according to a request (see frame_request.hpp).

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>

#include <dlfcn.h>

#include "tests/peer/blosc2_peer.hpp"
#include "tests/peer/frame_request.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {
namespace {

void check(std::int64_t result, const std::string& what) {
  if (result < 0) throw std::runtime_error(what + ": error " + std::to_string(result));
}

/// Further functions of the library, which Blosc2 does not have.
struct Functions {
  explicit Functions(const std::string& library)
      : handle(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) throw std::runtime_error(dlerror());
    load(get_slice, "blosc2_schunk_get_slice_buffer");
    load(set_slice, "blosc2_schunk_set_slice_buffer");
    load(delete_chunk, "blosc2_schunk_delete_chunk");
    load(get_chunk, "blosc2_schunk_get_chunk");
    load(insert_chunk, "blosc2_schunk_insert_chunk");
    load(layer_exists, "blosc2_vlmeta_exists");
    load(layer_update, "blosc2_vlmeta_update");
    load(layer_get, "blosc2_vlmeta_get");
    load(layer_delete, "blosc2_vlmeta_delete");
  }

  template <typename Function>
  void load(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) throw std::runtime_error(std::string("no function ") + name);
  }

  void* handle;
  int (*get_slice)(PeerSuperChunk*, std::int64_t, std::int64_t, void*) = nullptr;
  int (*set_slice)(PeerSuperChunk*, std::int64_t, std::int64_t, void*) = nullptr;
  std::int64_t (*delete_chunk)(PeerSuperChunk*, std::int64_t) = nullptr;
  int (*get_chunk)(PeerSuperChunk*, std::int64_t, std::uint8_t**, bool*) = nullptr;
  std::int64_t (*insert_chunk)(PeerSuperChunk*, std::int64_t, std::uint8_t*, bool) = nullptr;
  int (*layer_exists)(PeerSuperChunk*, const char*) = nullptr;
  int (*layer_update)(PeerSuperChunk*, const char*, std::uint8_t*, std::int32_t,
                      PeerCompression*) = nullptr;
  int (*layer_get)(PeerSuperChunk*, const char*, std::uint8_t**, std::int32_t*) = nullptr;
  int (*layer_delete)(PeerSuperChunk*, const char*) = nullptr;
};

class Editor {
 public:
  Editor(const Blosc2& blosc2, const Functions& functions, FrameRequest request)
      : blosc2_(blosc2), functions_(functions), request_(std::move(request)) {
    if (request_.array) return;
    frame_ = blosc2_.schunk_open(request_.path.c_str());
    if (frame_ == nullptr) throw std::runtime_error("schunk_open");
  }

  void work() {
    for (const FrameAction& action : request_.actions) perform(action);
    std::map<std::string, std::string> layers;
    for (const std::string& name : request_.layers) layers[name] = to_hex(layer(name));
    std::printf("%s\n", nlohmann::json(layers).dump().c_str());
    if (frame_ != nullptr) blosc2_.schunk_free(frame_);
  }

 private:
  void perform(const FrameAction& action) {
    if (action.action == "read") {
      write_file(action.file, request_.array ? read_array() : read_flat());
    } else if (action.action == "slice") {
      ByteVector bytes(static_cast<std::size_t>(action.count * request_.typesize));
      check(functions_.get_slice(frame_, action.start, action.start + action.count, bytes.data()),
            "get_slice_buffer");
      write_file(action.file, bytes);
    } else if (action.action == "append") {
      const ByteVector bytes = read_file(action.file);
      check(blosc2_.append_buffer(frame_, bytes.data(), static_cast<std::int32_t>(bytes.size())),
            "append_buffer");
    } else if (action.action == "overwrite") {
      ByteVector bytes = read_file(action.file);
      const auto items = static_cast<std::int64_t>(bytes.size()) / request_.typesize;
      check(functions_.set_slice(frame_, action.start, action.start + items, bytes.data()),
            "set_slice_buffer");
    } else if (action.action == "remove") {
      check(functions_.delete_chunk(frame_, action.start), "delete_chunk");
    } else if (action.action == "duplicate") {
      duplicate(action);
    } else if (action.action == "layer") {
      set_layer(action);
    } else if (action.action == "drop_layer") {
      check(functions_.layer_delete(frame_, action.name.c_str()), "vlmeta_delete");
    } else {
      throw std::runtime_error("action " + action.action);
    }
  }

  void duplicate(const FrameAction& action) {
    std::uint8_t* chunk = nullptr;
    bool owned = false;
    check(functions_.get_chunk(frame_, action.count, &chunk, &owned), "get_chunk");
    check(functions_.insert_chunk(frame_, action.start, chunk, true), "insert_chunk");
    if (owned) std::free(chunk);
  }

  void set_layer(const FrameAction& action) {
    ByteVector bytes = read_file(action.file);
    const auto size = static_cast<std::int32_t>(bytes.size());
    if (functions_.layer_exists(frame_, action.name.c_str()) < 0)
      check(blosc2_.vlmeta_add(frame_, action.name.c_str(), bytes.data(), size, nullptr),
            "vlmeta_add");
    else
      check(functions_.layer_update(frame_, action.name.c_str(), bytes.data(), size, nullptr),
            "vlmeta_update");
  }

  ByteVector layer(const std::string& name) {
    std::uint8_t* content = nullptr;
    std::int32_t size = 0;
    check(functions_.layer_get(frame_, name.c_str(), &content, &size), "vlmeta_get " + name);
    ByteVector bytes(content, content + size);
    std::free(content);
    return bytes;
  }

  ByteVector read_flat() {
    ByteVector bytes(static_cast<std::size_t>(request_.nbytes));
    std::size_t at = 0;
    for (std::int64_t chunk = 0; at < bytes.size(); ++chunk) {
      const int got = blosc2_.decompress_chunk(frame_, chunk, bytes.data() + at,
                                               static_cast<std::int32_t>(bytes.size() - at));
      check(got <= 0 ? got - 1 : got, "decompress_chunk " + std::to_string(chunk));
      at += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  ByteVector read_array() {
    PeerArray* array = nullptr;
    check(blosc2_.array_open(request_.path.c_str(), &array), "b2nd_open");
    ByteVector bytes(static_cast<std::size_t>(request_.nbytes));
    // C-Blosc2 refuses to read an array without items.
    if (!bytes.empty())
      check(blosc2_.array_to_buffer(array, bytes.data(), request_.nbytes), "to_cbuffer");
    blosc2_.array_free(array);
    return bytes;
  }

  const Blosc2& blosc2_;
  const Functions& functions_;
  const FrameRequest request_;
  PeerSuperChunk* frame_ = nullptr;
};

}  // namespace
}  // namespace bloscfs::test

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const bloscfs::test::Blosc2 blosc2(argv[1]);
    const bloscfs::test::Functions functions(argv[1]);
    const auto request = nlohmann::json::parse(argv[2]).get<bloscfs::test::FrameRequest>();
    bloscfs::test::Editor(blosc2, functions, request).work();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "frame_editor: %s\n", error.what());
    return 1;
  }
}
