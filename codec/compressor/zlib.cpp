#include "codec/compressor/zlib.hpp"

#include <algorithm>
#include <limits>
#include <new>

#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

namespace bloscfs::codec {
namespace {

#ifdef HAVE_LIBDEFLATE

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { ::libdeflate_free_decompressor(d); }
};

class ZlibDecompressor final : public Decompressor {
 public:
  ZlibDecompressor() : context_(::libdeflate_alloc_decompressor()) {
    if (context_ == nullptr) throw std::bad_alloc();
  }

  bool decompress(Bytes in, const CodecUse&, MutableBytes out) override {
    // Without an argument for the actual size, only a stream of exactly out.size() succeeds.
    std::size_t read = 0;
    return ::libdeflate_zlib_decompress_ex(context_.get(), in.data(), in.size(), out.data(),
                                           out.size(), &read, nullptr) == LIBDEFLATE_SUCCESS &&
           read == in.size();
  }

 private:
  std::unique_ptr<libdeflate_decompressor, FreeDecompressor> context_;
};

struct FreeCompressor {
  void operator()(libdeflate_compressor* c) const { ::libdeflate_free_compressor(c); }
};

// Higher levels take as long as zlib, for streams less than 0.1 % smaller.
constexpr int kMaxDeflateLevel = 8;

class ZlibCompressor final : public Compressor {
 public:
  explicit ZlibCompressor(int level)
      : context_(::libdeflate_alloc_compressor(std::min(level, kMaxDeflateLevel))) {
    if (context_ == nullptr) throw std::bad_alloc();
  }

  std::size_t compress(Bytes in, const CodecUse&, MutableBytes out) override {
    return ::libdeflate_zlib_compress(context_.get(), in.data(), in.size(), out.data(), out.size());
  }

 private:
  std::unique_ptr<libdeflate_compressor, FreeCompressor> context_;
};

#else

class ZlibDecompressor final : public Decompressor {
 public:
  bool decompress(Bytes in, const CodecUse&, MutableBytes out) override {
    uLongf written = out.size();
    uLong read = in.size();
    return uncompress2(out.data(), &written, in.data(), &read) == Z_OK && written == out.size() &&
           read == in.size();
  }
};

class ZlibCompressor final : public Compressor {
 public:
  explicit ZlibCompressor(int level) {
    if (deflateInit(&stream_, level) != Z_OK) throw std::bad_alloc();
  }
  ~ZlibCompressor() override { deflateEnd(&stream_); }
  ZlibCompressor(const ZlibCompressor&) = delete;
  ZlibCompressor& operator=(const ZlibCompressor&) = delete;

  std::size_t compress(Bytes in, const CodecUse&, MutableBytes out) override {
    constexpr std::size_t kMax = std::numeric_limits<uInt>::max();
    if (in.size() > kMax || deflateReset(&stream_) != Z_OK) return 0;
    stream_.next_in = const_cast<Bytef*>(in.data());  // zlib's interface lacks const
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(std::min(out.size(), kMax));
    return deflate(&stream_, Z_FINISH) == Z_STREAM_END ? stream_.total_out : 0;
  }

 private:
  z_stream stream_{};
};

#endif

}  // namespace

std::unique_ptr<Decompressor> make_zlib_decompressor() {
  return std::make_unique<ZlibDecompressor>();
}

std::unique_ptr<Compressor> make_zlib_compressor(int clevel) {
  return std::make_unique<ZlibCompressor>(clevel);
}

}  // namespace bloscfs::codec
