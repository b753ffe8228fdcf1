#include "codec/compressor/lz4.hpp"

#include <limits>

#include <lz4.h>

namespace bloscfs::codec {
namespace {

const char* chars(const std::uint8_t* bytes) { return reinterpret_cast<const char*>(bytes); }

class Lz4Decompressor final : public Decompressor {
 public:
  bool decompress(Bytes in, Bytes dictionary, MutableBytes out) override {
    constexpr std::size_t kMax = std::numeric_limits<int>::max();
    if (in.size() > kMax || out.size() > kMax) return false;
    const int in_size = static_cast<int>(in.size());
    const int out_size = static_cast<int>(out.size());
    char* const target = reinterpret_cast<char*>(out.data());
    const int written = dictionary.empty()
                            ? LZ4_decompress_safe(chars(in.data()), target, in_size, out_size)
                            : LZ4_decompress_safe_usingDict(chars(in.data()), target, in_size,
                                                            out_size, chars(dictionary.data()),
                                                            static_cast<int>(dictionary.size()));
    return written == out_size;
  }
};

}  // namespace

std::unique_ptr<Decompressor> make_lz4_decompressor() {
  return std::make_unique<Lz4Decompressor>();
}

}  // namespace bloscfs::codec
