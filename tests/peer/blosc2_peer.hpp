#pragma once
// The part of C-Blosc2's public interface that the tests call. It is declared by hand and loaded at
// run time. The layouts are those of 2.17; later versions only append fields.

#include <cstdint>
#include <string>

namespace bloscfs::test {

struct PeerCompression {
  std::uint8_t codec = 0;
  std::uint8_t codec_meta = 0;
  std::uint8_t level = 5;
  int use_dict = 0;
  std::int32_t typesize = 8;
  std::int16_t threads = 1;
  std::int32_t blocksize = 0;
  std::int32_t splitmode = 4;
  void* super_chunk = nullptr;
  std::uint8_t filters[6] = {};
  std::uint8_t filters_meta[6] = {};
  void* prefilter = nullptr;
  void* prefilter_params = nullptr;
  void* tuner_params = nullptr;
  int tuner = 0;
  bool instrumented = false;
  void* codec_params = nullptr;
  void* filter_params[6] = {};
};

struct PeerDecompression {
  std::int16_t threads = 1;
  void* super_chunk = nullptr;
  void* postfilter = nullptr;
  void* postfilter_params = nullptr;
  std::int32_t typesize = 8;
};

struct PeerStorage {
  bool contiguous = true;
  char* path = nullptr;
  PeerCompression* compression = nullptr;
  PeerDecompression* decompression = nullptr;
  void* io = nullptr;
};

/// A codec of the caller's own. encode and decode return the number of bytes written. `meta` and
/// the arguments after it are those of the chunk.
struct PeerCodec {
  std::uint8_t id;
  const char* name;
  std::uint8_t format_id;
  std::uint8_t version;
  int (*encode)(const std::uint8_t* in, std::int32_t in_size, std::uint8_t* out,
                std::int32_t out_size, std::uint8_t meta, PeerCompression*, const void* chunk);
  int (*decode)(const std::uint8_t* in, std::int32_t in_size, std::uint8_t* out,
                std::int32_t out_size, std::uint8_t meta, PeerDecompression*, const void* chunk);
};

struct PeerSuperChunk;
struct PeerArrayContext;

/// Only the first member is used.
struct PeerArray {
  PeerSuperChunk* super_chunk;
};

/// Pointers to functions of the loaded library. They return negative numbers for errors.
class Blosc2 {
 public:
  /// Throws std::runtime_error if the library or one of its functions is missing.
  explicit Blosc2(const std::string& library);
  ~Blosc2();
  Blosc2(const Blosc2&) = delete;
  Blosc2& operator=(const Blosc2&) = delete;

  PeerSuperChunk* (*schunk_new)(PeerStorage*) = nullptr;
  PeerSuperChunk* (*schunk_open)(const char*) = nullptr;
  int (*schunk_free)(PeerSuperChunk*) = nullptr;
  std::int64_t (*append_buffer)(PeerSuperChunk*, const void*, std::int32_t) = nullptr;
  int (*decompress_chunk)(PeerSuperChunk*, std::int64_t, void*, std::int32_t) = nullptr;
  int (*get_chunk)(PeerSuperChunk*, std::int64_t, std::uint8_t**, bool* needs_free) = nullptr;
  int (*meta_add)(PeerSuperChunk*, const char*, std::uint8_t*, std::int32_t) = nullptr;
  int (*vlmeta_add)(PeerSuperChunk*, const char*, std::uint8_t*, std::int32_t,
                    PeerCompression*) = nullptr;
  PeerArrayContext* (*array_context)(const PeerStorage*, std::int8_t, const std::int64_t*,
                                     const std::int32_t*, const std::int32_t*, const char*,
                                     std::int8_t, const void*, std::int32_t) = nullptr;
  int (*array_free_context)(PeerArrayContext*) = nullptr;
  int (*array_from_buffer)(PeerArrayContext*, PeerArray**, const void*, std::int64_t) = nullptr;
  int (*array_open)(const char*, PeerArray**) = nullptr;
  int (*array_to_buffer)(const PeerArray*, void*, std::int64_t) = nullptr;
  int (*array_free)(PeerArray*) = nullptr;
  void* (*create_cctx)(PeerCompression) = nullptr;
  void* (*create_dctx)(PeerDecompression) = nullptr;
  void (*free_ctx)(void*) = nullptr;
  int (*compress_ctx)(void*, const void*, std::int32_t, void*, std::int32_t) = nullptr;
  int (*decompress_ctx)(void*, const void*, std::int32_t, void*, std::int32_t) = nullptr;
  int (*getitem_ctx)(void*, const void*, std::int32_t, int start, int count, void*,
                     std::int32_t) = nullptr;
  int (*cbuffer_sizes)(const void*, std::int32_t* nbytes, std::int32_t* cbytes,
                       std::int32_t* blocksize) = nullptr;
  int (*register_codec)(PeerCodec*) = nullptr;

 private:
  template <typename Function>
  void load(Function& function, const char* name);

  void* handle_ = nullptr;
};

}  // namespace bloscfs::test
