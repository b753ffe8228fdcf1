#include "codec/compressor/lz4.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include <lz4.h>
#include <lz4hc.h>

namespace bloscfs::codec {
namespace {

const char* chars(const std::uint8_t* bytes) { return reinterpret_cast<const char*>(bytes); }
char* chars(std::uint8_t* bytes) { return reinterpret_cast<char*>(bytes); }

/// LZ4 takes sizes as int. Larger sizes become the largest int, which LZ4 refuses for an input.
int size_of(Bytes bytes) {
  return static_cast<int>(std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max()));
}

class Lz4Decompressor final : public Decompressor {
 public:
  bool decompress(Bytes in, const CodecUse& use, MutableBytes out) override {
    const Bytes dictionary = use.dictionary;
    constexpr std::size_t kMax = std::numeric_limits<int>::max();
    if (in.size() > kMax || out.size() > kMax) return false;
    const int in_size = static_cast<int>(in.size());
    const int out_size = static_cast<int>(out.size());
    char* const target = chars(out.data());
    const int written = dictionary.empty()
                            ? LZ4_decompress_safe(chars(in.data()), target, in_size, out_size)
                            : LZ4_decompress_safe_usingDict(chars(in.data()), target, in_size,
                                                            out_size, chars(dictionary.data()),
                                                            static_cast<int>(dictionary.size()));
    return written == out_size;
  }
};

struct FreeStream {
  void operator()(LZ4_stream_t* stream) const { LZ4_freeStream(stream); }
  void operator()(LZ4_streamHC_t* stream) const { LZ4_freeStreamHC(stream); }
};

/// Starts each stream from a cleared state. The library's faster resets keep traces of earlier
/// streams, which would change the result.
class Lz4Compressor final : public Compressor {
 public:
  explicit Lz4Compressor(int acceleration)
      : acceleration_(acceleration), state_(LZ4_createStream()) {
    if (state_ == nullptr) throw std::bad_alloc();
  }

  std::size_t compress(Bytes in, const CodecUse& use, MutableBytes out) override {
    const Bytes dictionary = use.dictionary;
    if (dictionary.empty()) {
      return static_cast<std::size_t>(LZ4_compress_fast_extState(state_.get(), chars(in.data()),
                                                                 chars(out.data()), size_of(in),
                                                                 size_of(out), acceleration_));
    }
    LZ4_loadDict(state_.get(), chars(dictionary.data()), size_of(dictionary));
    return static_cast<std::size_t>(LZ4_compress_fast_continue(state_.get(), chars(in.data()),
                                                               chars(out.data()), size_of(in),
                                                               size_of(out), acceleration_));
  }

 private:
  int acceleration_;
  std::unique_ptr<LZ4_stream_t, FreeStream> state_;
};

class Lz4HcCompressor final : public Compressor {
 public:
  explicit Lz4HcCompressor(int level) : level_(level), state_(LZ4_createStreamHC()) {
    if (state_ == nullptr) throw std::bad_alloc();
  }

  std::size_t compress(Bytes in, const CodecUse& use, MutableBytes out) override {
    const Bytes dictionary = use.dictionary;
    // The 256 KiB of tables keep old entries, which count as too far away to match.
    LZ4_resetStreamHC_fast(state_.get(), level_);
    if (!dictionary.empty()) {
      LZ4_loadDictHC(state_.get(), chars(dictionary.data()), size_of(dictionary));
    }
    return static_cast<std::size_t>(LZ4_compress_HC_continue(
        state_.get(), chars(in.data()), chars(out.data()), size_of(in), size_of(out)));
  }

 private:
  int level_;
  std::unique_ptr<LZ4_streamHC_t, FreeStream> state_;
};

}  // namespace

std::unique_ptr<Decompressor> make_lz4_decompressor() {
  return std::make_unique<Lz4Decompressor>();
}

// Acceleration saves time, but makes streams larger. C-Blosc2 2.17 uses none; here the lower levels
// use it.
std::unique_ptr<Compressor> make_lz4_compressor(int clevel) {
  return std::make_unique<Lz4Compressor>(std::max(6 - clevel, 1));
}

std::unique_ptr<Compressor> make_lz4hc_compressor(int clevel) {
  return std::make_unique<Lz4HcCompressor>(clevel);
}

}  // namespace bloscfs::codec
