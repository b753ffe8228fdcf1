#include "codec/compressor/zlib.hpp"

#ifdef HAVE_LIBDEFLATE
#include <new>

#include <libdeflate.h>
#else
#include <zlib.h>
#endif

namespace bloscfs::codec {
namespace {

#ifdef HAVE_LIBDEFLATE

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

class ZlibDecompressor final : public Decompressor {
 public:
  ZlibDecompressor() : context_(libdeflate_alloc_decompressor()) {
    if (context_ == nullptr) throw std::bad_alloc();
  }

  bool decompress(Bytes in, Bytes, MutableBytes out) override {
    // Without a place for the actual size, only a stream of exactly out.size() succeeds.
    std::size_t read = 0;
    return libdeflate_zlib_decompress_ex(context_.get(), in.data(), in.size(), out.data(),
                                         out.size(), &read, nullptr) == LIBDEFLATE_SUCCESS &&
           read == in.size();
  }

 private:
  std::unique_ptr<libdeflate_decompressor, FreeDecompressor> context_;
};

#else

class ZlibDecompressor final : public Decompressor {
 public:
  bool decompress(Bytes in, Bytes, MutableBytes out) override {
    uLongf written = out.size();
    uLong read = in.size();
    return uncompress2(out.data(), &written, in.data(), &read) == Z_OK && written == out.size() &&
           read == in.size();
  }
};

#endif

}  // namespace

std::unique_ptr<Decompressor> make_zlib_decompressor() {
  return std::make_unique<ZlibDecompressor>();
}

}  // namespace bloscfs::codec
