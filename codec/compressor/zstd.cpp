#include "codec/compressor/zstd.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include <zstd.h>

namespace bloscfs::codec {
namespace {

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_DDict* dictionary) const { ZSTD_freeDDict(dictionary); }
};

class ZstdDecompressor final : public Decompressor {
 public:
  ZstdDecompressor() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
  }

  bool decompress(Bytes in, Bytes dictionary, MutableBytes out) override {
    if (dictionary.empty()) {
      return ZSTD_decompressDCtx(context_.get(), out.data(), out.size(), in.data(), in.size()) ==
             out.size();
    }
    const ZSTD_DDict* const digested = digest(dictionary);
    return digested != nullptr &&
           ZSTD_decompress_usingDDict(context_.get(), out.data(), out.size(), in.data(), in.size(),
                                      digested) == out.size();
  }

 private:
  /// Null if the dictionary is damaged. Compares contents: chunks come and go at one address.
  const ZSTD_DDict* digest(Bytes dictionary) {
    if (!std::equal(dictionary.begin(), dictionary.end(), source_.begin(), source_.end())) {
      digested_.reset(ZSTD_createDDict(dictionary.data(), dictionary.size()));
      source_.assign(dictionary.begin(), dictionary.end());
    }
    return digested_.get();
  }

  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  std::unique_ptr<ZSTD_DDict, FreeContext> digested_;
  std::vector<std::uint8_t> source_;  ///< of digested_
};

}  // namespace

std::unique_ptr<Decompressor> make_zstd_decompressor() {
  return std::make_unique<ZstdDecompressor>();
}

}  // namespace bloscfs::codec
