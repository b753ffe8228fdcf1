#include "codec/compressor/snappy.hpp"

#include "codec/compressor/libsnappy.hpp"

namespace bloscfs::codec {
namespace {

class SnappyDecompressor final : public Decompressor {
 public:
  bool decompress(Bytes in, const CodecUse&, MutableBytes out) override {
    const char* const source = reinterpret_cast<const char*>(in.data());
    std::size_t size = 0;
    if (libsnappy::uncompressed_length(source, in.size(), &size) != SNAPPY_OK) return false;
    return size == out.size() &&
           libsnappy::uncompress(source, in.size(), reinterpret_cast<char*>(out.data()), &size) ==
               SNAPPY_OK;
  }
};

}  // namespace

std::unique_ptr<Decompressor> make_snappy_decompressor() {
  return std::make_unique<SnappyDecompressor>();
}

void load_snappy() { libsnappy::library.load(); }

}  // namespace bloscfs::codec
