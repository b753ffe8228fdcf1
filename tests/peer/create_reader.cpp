// usage: create_reader LIBRARY FRAME OUT
// Reads a frame with C-Blosc2. Writes its contents (for an array, the items) to OUT, and its facts
// to stdout as JSON.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include <dlfcn.h>
#include <nlohmann/json.hpp>

#include "tests/peer/blosc2_peer.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {
namespace {

using nlohmann::json;

struct PeerMetalayer {
  char* name;
  std::uint8_t* content;
  std::int32_t size;
};

/// The beginning of C-Blosc2's struct of that name.
struct FrameHead {
  std::uint8_t version, codec, codec_meta, level, splitmode;
  std::int32_t typesize, blocksize, chunksize;
  std::uint8_t filters[6], filters_meta[6];
  std::int64_t nchunks, current_chunk, nbytes, cbytes;
  std::uint8_t** data;
  std::size_t data_size;
  void *storage, *frame, *compression, *decompression;
  PeerMetalayer* metalayers[16];
  std::uint16_t metalayer_count;
};

struct ArrayHead {
  PeerSuperChunk* frame;
  std::int64_t shape[8];
  std::int32_t chunkshape[8];
  std::int64_t padded_shape[8];
  std::int32_t blockshape[8];
  std::int64_t padded_chunkshape[8];
  std::int64_t items, chunk_items, padded_items, padded_chunk_items, block_items;
  std::int8_t dimensions;
};

void check(std::int64_t result, const std::string& what) {
  if (result < 0) throw std::runtime_error(what + ": error " + std::to_string(result));
}

class Reader {
 public:
  Reader(const std::string& library, std::string path)
      : blosc2_(library), handle_(dlopen(library.c_str(), RTLD_NOW)), path_(std::move(path)) {}

  json work(const std::string& out) {
    PeerSuperChunk* const frame = blosc2_.schunk_open(path_.c_str());
    if (frame == nullptr) throw std::runtime_error("schunk_open");
    const auto* const head = reinterpret_cast<const FrameHead*>(frame);
    json facts = {{"codec", head->codec},         {"clevel", head->level},
                  {"typesize", head->typesize},   {"chunksize", head->chunksize},
                  {"blocksize", head->blocksize}, {"nbytes", head->nbytes},
                  {"nchunks", head->nchunks}};
    facts["meta"] = json::object();
    bool is_array = false;
    for (int i = 0; i < head->metalayer_count; ++i) {
      const PeerMetalayer& layer = *head->metalayers[i];
      facts["meta"][layer.name] = to_hex({layer.content, layer.content + layer.size});
      is_array |= std::string(layer.name) == "b2nd";
    }
    facts["vlmeta"] = vlmetalayers(frame);
    write_file(out, is_array ? read_array(head->typesize, facts) : read_flat(frame, *head));
    blosc2_.schunk_free(frame);
    return facts;
  }

 private:
  template <typename Function>
  Function* load(const char* name) const {
    auto* const function = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (function == nullptr) throw std::runtime_error(std::string("no function ") + name);
    return function;
  }

  json vlmetalayers(PeerSuperChunk* frame) const {
    char* names[8192];
    const int count = load<int(PeerSuperChunk*, char**)>("blosc2_vlmeta_get_names")(frame, names);
    check(count, "vlmeta_get_names");
    auto* const get =
        load<int(PeerSuperChunk*, const char*, std::uint8_t**, std::int32_t*)>("blosc2_vlmeta_get");
    json layers = json::object();
    for (int i = 0; i < count; ++i) {
      std::uint8_t* content = nullptr;
      std::int32_t size = 0;
      check(get(frame, names[i], &content, &size), "vlmeta_get");
      layers[names[i]] = to_hex({content, content + size});
      std::free(content);
    }
    return layers;
  }

  ByteVector read_flat(PeerSuperChunk* frame, const FrameHead& head) const {
    ByteVector bytes(static_cast<std::size_t>(head.nbytes));
    std::size_t at = 0;
    for (std::int64_t chunk = 0; chunk < head.nchunks; ++chunk) {
      const int got = blosc2_.decompress_chunk(frame, chunk, bytes.data() + at,
                                               static_cast<std::int32_t>(bytes.size() - at));
      check(got - 1, "decompress_chunk " + std::to_string(chunk));
      at += static_cast<std::size_t>(got);
    }
    bytes.resize(at);
    return bytes;
  }

  ByteVector read_array(std::int32_t typesize, json& facts) const {
    PeerArray* array = nullptr;
    check(blosc2_.array_open(path_.c_str(), &array), "b2nd_open");
    const auto* const head = reinterpret_cast<const ArrayHead*>(array);
    for (int i = 0; i < head->dimensions; ++i) {
      facts["shape"].push_back(head->shape[i]);
      facts["chunkshape"].push_back(head->chunkshape[i]);
      facts["blockshape"].push_back(head->blockshape[i]);
    }
    ByteVector bytes(static_cast<std::size_t>(head->items * typesize));
    if (!bytes.empty())
      check(blosc2_.array_to_buffer(array, bytes.data(), head->items * typesize), "to_cbuffer");
    blosc2_.array_free(array);
    return bytes;
  }

  const Blosc2 blosc2_;
  void* handle_;
  std::string path_;
};

}  // namespace
}  // namespace bloscfs::test

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    std::printf("%s\n", bloscfs::test::Reader(argv[1], argv[2]).work(argv[3]).dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "create_reader: %s\n", error.what());
    return 1;
  }
}
