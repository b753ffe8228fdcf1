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
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_CDict* dictionary) const { ZSTD_freeCDict(dictionary); }
};

class ZstdDecompressor final : public Decompressor {
 public:
  ZstdDecompressor() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
  }

  bool decompress(Bytes in, const CodecUse& use, MutableBytes out) override {
    const Bytes dictionary = use.dictionary;
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
  /// Returns null if the dictionary is damaged. Compares contents, because different chunks may use
  /// the same address.
  const ZSTD_DDict* digest(Bytes dictionary) {
    if (!std::equal(dictionary.begin(), dictionary.end(), source_.begin(), source_.end())) {
      digested_.reset(ZSTD_createDDict(dictionary.data(), dictionary.size()));
      source_.assign(dictionary.begin(), dictionary.end());
    }
    return digested_.get();
  }

  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  std::unique_ptr<ZSTD_DDict, FreeContext> digested_;
  std::vector<std::uint8_t> source_;  ///< the bytes of digested_
};

/// Levels of the library for the levels of Blosc (codec/formats/codecs.md, "Levels").
constexpr int kLevels[] = {0, 1, 3, 5, 7, 9, 11, 13, 15, 22};

/// From this version on, a context salts its hashes with the number of its uses. Only its first
/// result is reproducible.
constexpr unsigned kFirstSaltedVersion = 10505;

class ZstdCompressor final : public Compressor {
 public:
  explicit ZstdCompressor(int level) : level_(level) {}

  std::size_t compress(Bytes in, const CodecUse& use, MutableBytes out) override {
    const Bytes dictionary = use.dictionary;
    renew_context();
    const std::size_t size = dictionary.empty()
                                 ? ZSTD_compressCCtx(context_.get(), out.data(), out.size(),
                                                     in.data(), in.size(), level_)
                                 : compress_with(digest(dictionary), in, out);
    return ZSTD_isError(size) != 0 ? 0 : size;
  }

 private:
  void renew_context() {
    if (context_ != nullptr && ZSTD_versionNumber() < kFirstSaltedVersion) return;
    context_.reset(ZSTD_createCCtx());
    if (context_ == nullptr) throw std::bad_alloc();
  }

  std::size_t compress_with(const ZSTD_CDict* dictionary, Bytes in, MutableBytes out) {
    if (dictionary == nullptr) return 0;
    return ZSTD_compress_usingCDict(context_.get(), out.data(), out.size(), in.data(), in.size(),
                                    dictionary);
  }

  /// Returns null if the dictionary is damaged. An update of a chunk may bring one, because it uses
  /// the chunk's own dictionary.
  const ZSTD_CDict* digest(Bytes dictionary) {
    if (!std::equal(dictionary.begin(), dictionary.end(), source_.begin(), source_.end())) {
      digested_.reset(ZSTD_createCDict(dictionary.data(), dictionary.size(), level_));
      source_.assign(dictionary.begin(), dictionary.end());
    }
    return digested_.get();
  }

  int level_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::unique_ptr<ZSTD_CDict, FreeContext> digested_;
  std::vector<std::uint8_t> source_;  ///< the bytes of digested_
};

}  // namespace

std::unique_ptr<Decompressor> make_zstd_decompressor() {
  return std::make_unique<ZstdDecompressor>();
}

std::unique_ptr<Compressor> make_zstd_compressor(int clevel) {
  return std::make_unique<ZstdCompressor>(kLevels[clevel]);
}

}  // namespace bloscfs::codec
