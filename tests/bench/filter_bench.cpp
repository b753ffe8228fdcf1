// Measures filters alone. C-Blosc2 gives no access to its filters, so they run in chunks whose
// codec does nothing. The time of such chunks without a filter is subtracted.

#include <cstring>
#include <string>
#include <vector>

#include "codec/filter/bitshuffle.hpp"
#include "codec/filter/bytedelta.hpp"
#include "codec/filter/delta.hpp"
#include "codec/filter/shuffle.hpp"
#include "tests/bench/bench_data.hpp"
#include "tests/bench/codec_bench.hpp"

namespace bloscfs::test {
namespace {

using ByteVector = std::vector<std::uint8_t>;
using codec::Bytes;
using codec::MutableBytes;

constexpr std::size_t kBlockSize = 64 << 10;
constexpr std::uint8_t kIdleCodec = 200;
constexpr std::size_t kTypesizes[] = {1, 2, 3, 4, 6, 7, 8, 12, 16, 24};

int idle_encode(const std::uint8_t*, std::int32_t, std::uint8_t* out, std::int32_t, std::uint8_t,
                PeerCompression*, const void*) {
  out[0] = 0;
  return 1;
}

int idle_decode(const std::uint8_t*, std::int32_t, std::uint8_t*, std::int32_t out_size,
                std::uint8_t, PeerDecompression*, const void*) {
  return out_size;
}

/// Chunks of the codec that does nothing, with one filter.
class PeerFilter {
 public:
  PeerFilter(const Blosc2& blosc2, const std::string& filter, std::size_t typesize,
             std::size_t block, const ByteVector& contents)
      : blosc2_(blosc2), contents_(contents), chunk_(contents.size()), out_(contents.size()) {
    codec::EncodeSettings settings;
    settings.codec = static_cast<codec::CodecId>(kIdleCodec);
    settings.typesize = static_cast<std::int32_t>(typesize);
    settings.blocksize = static_cast<std::int32_t>(block);
    settings.filters = named_filters(filter, typesize);
    PeerCompression peer = peer_settings(settings);
    peer.splitmode = static_cast<std::int32_t>(codec::SplitMode::never);
    encoder_ = blosc2.create_cctx(peer);
    decoder_ = blosc2.create_dctx({});
    encode();
  }
  ~PeerFilter() {
    blosc2_.free_ctx(encoder_);
    blosc2_.free_ctx(decoder_);
  }
  PeerFilter(const PeerFilter&) = delete;
  PeerFilter& operator=(const PeerFilter&) = delete;

  void encode() {
    check(blosc2_.compress_ctx(encoder_, contents_.data(), size(), chunk_.data(), size()),
          "compress_ctx");
  }
  void decode() {
    check(blosc2_.decompress_ctx(decoder_, chunk_.data(), size(), out_.data(), size()),
          "decompress_ctx");
  }

 private:
  std::int32_t size() const { return static_cast<std::int32_t>(out_.size()); }

  const Blosc2& blosc2_;
  const ByteVector& contents_;
  ByteVector chunk_, out_;
  void* encoder_;
  void* decoder_;
};

/// One direction of a filter on a block. `reference` has the contents of the first block.
using Run = void (*)(Bytes in, Bytes reference, MutableBytes out, std::size_t typesize);

/// A filter and its inverse. The benchmark applies it to contents block by block, through a buffer.
struct Filter {
  const char* name;
  const char* inverse_name;
  Run apply;
  Run undo;
};

constexpr auto kKind = codec::BytedeltaKind::current;

constexpr Filter kFilters[] = {
    {"shuffle", "unshuffle",
     [](Bytes in, Bytes, MutableBytes out, std::size_t size) { codec::shuffle(in, out, size); },
     [](Bytes in, Bytes, MutableBytes out, std::size_t size) { codec::unshuffle(in, out, size); }},
    {"bitshuffle", "bitunshuffle",
     [](Bytes in, Bytes, MutableBytes out, std::size_t size) { codec::bitshuffle(in, out, size); },
     [](Bytes in, Bytes, MutableBytes out, std::size_t size) {
       codec::bitunshuffle(in, out, size);
     }},
    {"delta", "undelta",
     [](Bytes in, Bytes reference, MutableBytes out, std::size_t size) {
       codec::delta_reference(in, reference, out, size);
     },
     [](Bytes, Bytes reference, MutableBytes out, std::size_t size) {
       codec::delta_reference(out, reference, size);
     }},
    {"bytedelta", "unbytedelta",
     [](Bytes in, Bytes, MutableBytes out, std::size_t size) {
       codec::bytedelta(in, out, size, kKind);
     },
     [](Bytes, Bytes, MutableBytes out, std::size_t size) {
       codec::unbytedelta(out, size, kKind);
     }},
};

void copy_block(Bytes in, Bytes, MutableBytes out, std::size_t) {
  std::memcpy(out.data(), in.data(), in.size());
}

class FilterCase {
 public:
  FilterCase(const Bench& bench, const Filter& filter, std::size_t typesize)
      : bench_(bench),
        typesize_(typesize),
        block_(kBlockSize - kBlockSize % (8 * typesize)),
        contents_(make_contents(typesize, bench.size - bench.size % block_)),
        out_(contents_.size()),
        buffer_(contents_.begin(), contents_.begin() + static_cast<std::ptrdiff_t>(block_)),
        filtered_(bench.blosc2, filter.name, typesize, block_, contents_),
        plain_(bench.blosc2, "none", typesize, block_, contents_) {}

  void compare_pass(const std::string& name, bool forward, Run run) {
    const auto ours = [&] { each_block(forward, run); };
    Comparison result = compare(bench_.rounds, ours, [&] { run_peer(filtered_, forward); });
    const double idle = typical_seconds(bench_.rounds, [&] { run_peer(plain_, forward); });
    result.theirs -= idle;
    result.ratio -= idle / result.ours;
    report(name, "filter", result);
    report(name + " to memcpy", "memcpy",
           compare(bench_.rounds, ours, [&] { each_block(forward, copy_block); }));
  }

 private:
  static void run_peer(PeerFilter& peer, bool forward) {
    if (forward) {
      peer.encode();
    } else {
      peer.decode();
    }
  }

  void each_block(bool forward, Run run) {
    const Bytes reference = Bytes(contents_).first(block_);
    for (std::size_t at = 0; at < contents_.size(); at += block_) {
      if (forward) {
        run(Bytes(contents_).subspan(at, block_), reference, buffer_, typesize_);
      } else {
        run(buffer_, reference, MutableBytes(out_).subspan(at, block_), typesize_);
      }
    }
  }

  void report(const std::string& name, const std::string& kind, const Comparison& result) {
    bench_.report(name, kind, result, contents_.size(),
                  ", \"typesize\": " + std::to_string(typesize_));
  }

  const Bench& bench_;
  std::size_t typesize_, block_;
  ByteVector contents_, out_, buffer_;
  PeerFilter filtered_, plain_;
};

}  // namespace

void compare_filters(const Bench& bench) {
  PeerCodec idle{kIdleCodec, "idle", kIdleCodec, 1, idle_encode, idle_decode};
  check(bench.blosc2.register_codec(&idle), "register_codec");
  for (const Filter& filter : kFilters) {
    for (const std::size_t typesize : kTypesizes) {
      for (const bool forward : {true, false}) {
        const std::string name =
            (forward ? filter.name : filter.inverse_name) + (" " + std::to_string(typesize));
        if (!bench.wants(name + " to memcpy")) continue;
        FilterCase(bench, filter, typesize)
            .compare_pass(name, forward, forward ? filter.apply : filter.undo);
      }
    }
  }
}

}  // namespace bloscfs::test
