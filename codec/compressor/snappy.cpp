#include "codec/compressor/snappy.hpp"

#include <snappy-c.h>

namespace bloscfs::codec {
namespace {

class SnappyDecompressor final : public Decompressor {
 public:
  bool decompress(Bytes in, const CodecUse&, MutableBytes out) override {
    const char* const source = reinterpret_cast<const char*>(in.data());
    std::size_t size = 0;
    if (::snappy_uncompressed_length(source, in.size(), &size) != SNAPPY_OK) return false;
    return size == out.size() &&
           ::snappy_uncompress(source, in.size(), reinterpret_cast<char*>(out.data()), &size) ==
               SNAPPY_OK;
  }
};

}  // namespace

std::unique_ptr<Decompressor> make_snappy_decompressor() {
  return std::make_unique<SnappyDecompressor>();
}

}  // namespace bloscfs::codec
