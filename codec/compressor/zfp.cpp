#include "codec/compressor/zfp.hpp"

#include <algorithm>

#ifdef HAVE_ZFP
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include <zfp.h>

#include "codec/error.hpp"
#include "codec/names.hpp"
#endif

namespace bloscfs::codec {
namespace {

constexpr std::size_t kMaxDimensions = 4;
constexpr std::int32_t kCellSide = 4;
constexpr int kMaxPercent = 100;

/// Returns why a stream cannot be a ZFP stream, as text; empty if it can.
std::string stream_problem(const CodecUse& use, std::int64_t size) {
  if (use.typesize != 4 && use.typesize != 8)
    return "takes items of 4 or 8 bytes, not " + std::to_string(use.typesize);
  if (use.shape.extents().size() > kMaxDimensions)
    return "takes up to 4 dimensions, not " + std::to_string(use.shape.extents().size());
  return use.shape.problem(use.typesize, size);
}

}  // namespace

std::string zfp_problem(const CodecUse& use, std::int64_t size) {
  std::string problem = stream_problem(use, size);
  if (!problem.empty()) return problem;
  const auto extents = use.shape.extents();
  if (*std::min_element(extents.begin(), extents.end()) < kCellSide)
    return "takes blocks of at least 4 items along each dimension";
  if (use.id == CodecId::zfp_rate && (use.meta < 1 || use.meta > kMaxPercent))
    return "takes 1 to 100 percent, not " + std::to_string(use.meta);
  return {};
}

#ifdef HAVE_ZFP
namespace {

constexpr std::size_t kLargestWord = 8;  // of a bit stream; builds of libzfp differ

std::size_t whole_words(std::size_t size) {
  return (size + kLargestWord - 1) / kLargestWord * kLargestWord;
}

struct CloseStream {
  void operator()(zfp_stream* stream) const { ::zfp_stream_close(stream); }
  void operator()(zfp_field* field) const { ::zfp_field_free(field); }
  void operator()(bitstream* bits) const { ::stream_close(bits); }
};

template <typename Handle>
using Owned = std::unique_ptr<Handle, CloseStream>;

template <typename Handle>
Owned<Handle> owned(Handle* handle) {
  if (handle == nullptr) throw std::bad_alloc();
  return Owned<Handle>(handle);
}

zfp_type scalar_type(const CodecUse& use) {
  return use.typesize == 4 ? zfp_type_float : zfp_type_double;
}

/// The library's objects for one call. Only a decoder writes to `items`.
class Session {
 public:
  Session(const CodecUse& use, void* items)
      : stream_(owned(::zfp_stream_open(nullptr))), field_(owned(field_of(use, items))) {
    set_mode(use);
    maximum_ = ::zfp_stream_maximum_size(stream_.get(), field_.get());
  }

  /// Returns the most bytes that a stream can have, and that decoding it reads.
  std::size_t maximum() const { return maximum_; }

  /// Returns how many bytes of `words` were read; 0 if the stream is damaged.
  std::size_t decompress(std::vector<std::uint64_t>& words) {
    open(words);
    return ::zfp_decompress(stream_.get(), field_.get());
  }
  /// Returns how many bytes of `words` were written; 0 on failure.
  std::size_t compress(std::vector<std::uint64_t>& words) {
    open(words);
    return ::zfp_compress(stream_.get(), field_.get());
  }

 private:
  static zfp_field* field_of(const CodecUse& use, void* items) {
    const zfp_type type = scalar_type(use);
    const auto extents = use.shape.extents();
    // ZFP orders dimensions the other way round.
    const auto extent = [&](std::size_t i) {
      return static_cast<std::size_t>(extents[extents.size() - 1 - i]);
    };
    switch (extents.size()) {
      case 1:
        return ::zfp_field_1d(items, type, extent(0));
      case 2:
        return ::zfp_field_2d(items, type, extent(0), extent(1));
      case 3:
        return ::zfp_field_3d(items, type, extent(0), extent(1), extent(2));
      default:
        return ::zfp_field_4d(items, type, extent(0), extent(1), extent(2), extent(3));
    }
  }

  /// Sets the mode of the codec, and its parameter (codec/formats/plugins.md).
  void set_mode(const CodecUse& use) {
    const auto dimensions = static_cast<unsigned>(use.shape.extents().size());
    if (use.id == CodecId::zfp_accuracy) {
      ::zfp_stream_set_accuracy(stream_.get(), std::pow(10.0, static_cast<std::int8_t>(use.meta)));
    } else if (use.id == CodecId::zfp_precision) {
      ::zfp_stream_set_precision(stream_.get(), std::min(64U, use.meta + 3U + 2 * dimensions));
    } else {
      ::zfp_stream_set_rate(stream_.get(), use.meta / 100.0 * use.typesize * 8, scalar_type(use),
                            dimensions, 0);
    }
  }

  void open(std::vector<std::uint64_t>& words) {
    bits_ = owned(::stream_open(words.data(), words.size() * sizeof(std::uint64_t)));
    ::zfp_stream_set_bit_stream(stream_.get(), bits_.get());
    ::zfp_stream_rewind(stream_.get());
  }

  Owned<zfp_stream> stream_;
  Owned<zfp_field> field_;
  Owned<bitstream> bits_;
  std::size_t maximum_ = 0;
};

/// Throws Error if this cannot be a ZFP stream: unsupported without a shape, else malformed.
void require_stream(const CodecUse& use, std::size_t size) {
  const std::string problem = stream_problem(use, static_cast<std::int64_t>(size));
  if (problem.empty()) return;
  const std::string what = "codec " + codec_name(use.id) + ": " + problem;
  if (!use.shape.is_known()) throw_unsupported(what);
  throw_malformed(what);
}

bool is_aligned(const std::uint8_t* items, const CodecUse& use) {
  return reinterpret_cast<std::uintptr_t>(items) % static_cast<std::size_t>(use.typesize) == 0;
}

class ZfpDecompressor final : public Decompressor {
 public:
  bool decompress(Bytes in, const CodecUse& use, MutableBytes out) override {
    require_stream(use, out.size());
    if (is_aligned(out.data(), use)) return decompress_to(out.data(), in, use);
    std::vector<std::uint64_t> aligned(whole_words(out.size()) / kLargestWord);
    const bool good = decompress_to(aligned.data(), in, use);
    std::memcpy(out.data(), aligned.data(), out.size());
    return good;
  }

 private:
  static bool decompress_to(void* items, Bytes in, const CodecUse& use) {
    Session session(use, items);
    if (session.maximum() == 0) return false;
    // The library reads beyond the end of a stream, in words of 1 or 8 bytes. It finds zeros there.
    const std::size_t room = whole_words(std::max(session.maximum(), in.size())) + kLargestWord;
    std::vector<std::uint64_t> words(room / kLargestWord);
    std::memcpy(words.data(), in.data(), in.size());
    const std::size_t used = session.decompress(words);
    return used > 0 && used <= whole_words(in.size());
  }
};

template <typename Float>
bool all_finite(Bytes in) {
  for (std::size_t i = 0; i + sizeof(Float) <= in.size(); i += sizeof(Float)) {
    Float item = 0;
    std::memcpy(&item, in.data() + i, sizeof(Float));
    if (!std::isfinite(item)) return false;
  }
  return true;
}

class ZfpCompressor final : public Compressor {
 public:
  std::size_t compress(Bytes in, const CodecUse& use, MutableBytes out) override {
    if (!zfp_problem(use, static_cast<std::int64_t>(in.size())).empty()) return 0;
    if (!(use.typesize == 4 ? all_finite<float>(in) : all_finite<double>(in))) return 0;
    std::vector<std::uint64_t> aligned;
    if (!is_aligned(in.data(), use)) {
      aligned.resize(whole_words(in.size()) / kLargestWord);
      std::memcpy(aligned.data(), in.data(), in.size());
      in = {reinterpret_cast<const std::uint8_t*>(aligned.data()), in.size()};
    }
    Session session(use, const_cast<std::uint8_t*>(in.data()));  // libzfp's interface lacks const
    std::vector<std::uint64_t> words(whole_words(session.maximum()) / kLargestWord + 1);
    // Whole words, as required by readers whose library has larger words.
    const std::size_t size = whole_words(session.compress(words));
    if (size == 0 || size > out.size()) return 0;
    std::memcpy(out.data(), words.data(), size);
    return size;
  }
};

}  // namespace

std::unique_ptr<Decompressor> make_zfp_decompressor() {
  return std::make_unique<ZfpDecompressor>();
}

std::unique_ptr<Compressor> make_zfp_compressor(int) { return std::make_unique<ZfpCompressor>(); }

std::int64_t zfp_memory(const CodecUse& use, std::int64_t size) {
  if (!stream_problem(use, size).empty()) return 0;
  const auto stream = static_cast<std::int64_t>(Session(use, nullptr).maximum());
  return stream + size + static_cast<std::int64_t>(2 * kLargestWord);
}
#endif

}  // namespace bloscfs::codec
