// usage: codec_bench LIBRARY SIZE ROUNDS [NAME]
// Compares the codec with C-Blosc2, in memory, in one thread and with equal block sizes. Both
// encode and decode chunks of SIZE bytes in alternation. Filters are also measured alone. Prints
// rows as JSON, only those with NAME in their names.

#include "tests/bench/codec_bench.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <vector>

#include "codec/block_decoder.hpp"
#include "codec/chunk_encoder.hpp"
#include "codec/names.hpp"
#include "tests/bench/bench_data.hpp"

namespace bloscfs::test {

void check(std::int64_t result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + ": error " + std::to_string(result));
}

Filters named_filters(const std::string& name, std::size_t typesize) {
  using codec::FilterId;
  Filters filters{};
  if (name == "shuffle" || name == "delta+shuffle") filters[5] = {FilterId::shuffle, 0};
  if (name == "delta+shuffle") filters[4] = {FilterId::delta, 0};
  if (name == "bitshuffle") filters[5] = {FilterId::bitshuffle, 0};
  if (name == "delta") filters[5] = {FilterId::delta, 0};
  if (name == "shuffle+bytedelta") filters[4] = {FilterId::shuffle, 0};
  if (name == "bytedelta" || name == "shuffle+bytedelta") {
    filters[5] = {FilterId::bytedelta, static_cast<std::uint8_t>(typesize)};
  }
  return filters;
}

PeerCompression peer_settings(const codec::EncodeSettings& settings) {
  PeerCompression peer;
  peer.codec = static_cast<std::uint8_t>(settings.codec);
  peer.level = static_cast<std::uint8_t>(settings.clevel);
  peer.typesize = settings.typesize;
  peer.blocksize = settings.blocksize;
  for (std::size_t i = 0; i < settings.filters.size(); ++i) {
    peer.filters[i] = static_cast<std::uint8_t>(settings.filters[i].id);
    peer.filters_meta[i] = settings.filters[i].meta;
  }
  return peer;
}

void Bench::report(const std::string& name, const std::string& kind, const Comparison& result,
                   std::size_t nbytes, const std::string& extra) const {
  static bool first = true;
  const double megabytes = static_cast<double>(nbytes) / 1e6;
  std::printf(
      "%s\n {\"name\": \"%s\", \"kind\": \"%s\", \"ours\": %.1f, \"theirs\": %.1f, "
      "\"ratio\": %.4f%s}",
      first ? "" : ",", name.c_str(), kind.c_str(), megabytes / result.ours,
      megabytes / result.theirs, result.ratio, extra.c_str());
  std::fflush(stdout);
  first = false;
}

namespace {

using ByteVector = std::vector<std::uint8_t>;
using codec::CodecId;

constexpr CodecId kCodecs[] = {CodecId::blosclz, CodecId::lz4, CodecId::lz4hc, CodecId::zlib,
                               CodecId::zstd};
constexpr int kLevels[] = {1, 3, 5, 7, 9};
constexpr int kUsualLevel = 5;
constexpr std::int32_t kBlockSize = 64 << 10;
constexpr std::int32_t kChosenBlockSize = 0;  // codec and level choose it, equally in both

std::string extra_member(const std::string& name, const std::string& value) {
  return ", \"" + name + "\": " + value;
}

class Case {
 public:
  Case(const Bench& bench, const codec::EncodeSettings& settings, const std::string& name)
      : bench_(bench), settings_(settings), name_(name) {
    const std::size_t typesize = static_cast<std::size_t>(settings.typesize);
    contents_ = make_contents(typesize, bench.size - bench.size % (8 * typesize));
    chunk_.resize(codec::ChunkEncoder::max_stored_size(contents_.size()));
    decoded_.resize(contents_.size());
  }

  /// Leaves the chunk of C-Blosc2 for decode(). Both write to the same memory, since its address
  /// affects the speed.
  void encode() {
    codec::ChunkEncoder encoder(settings_);
    void* const context = bench_.blosc2.create_cctx(peer_settings(settings_));
    std::size_t size = 0;
    std::size_t peer_size = 0;
    const auto ours = [&] { size = encoder.encode_into(contents_, chunk_).stored; };
    const auto theirs = [&] {
      const int got = bench_.blosc2.compress_ctx(context, contents_.data(), int_size(contents_),
                                                 chunk_.data(), int_size(chunk_));
      check(got, "compress_ctx");
      peer_size = static_cast<std::size_t>(got);
    };
    if (bench_.wants(name_ + " encode")) {
      theirs();
      const Comparison result = compare(bench_.rounds, ours, theirs);
      const double size_ratio = static_cast<double>(size) / static_cast<double>(peer_size);
      report("encode", result, extra_member("size_ratio", std::to_string(size_ratio)));
    }
    theirs();
    bench_.blosc2.free_ctx(context);
    chunk_.resize(peer_size);
  }

  void decode() {
    if (!bench_.wants(name_ + " decode")) return;
    codec::BlockDecoder decoder;
    void* const context = bench_.blosc2.create_dctx({});
    const auto theirs = [&] {
      check(bench_.blosc2.decompress_ctx(context, chunk_.data(), int_size(chunk_), decoded_.data(),
                                         int_size(decoded_)),
            "decompress_ctx");
    };
    decode_own(decoder);
    if (decoded_ != contents_) throw std::runtime_error(name_ + " does not come back");
    report("decode",
           compare(
               bench_.rounds, [&] { decode_own(decoder); }, theirs),
           {});
    bench_.blosc2.free_ctx(context);
  }

 private:
  static std::int32_t int_size(const ByteVector& bytes) {
    return static_cast<std::int32_t>(bytes.size());
  }

  void report(const std::string& direction, const Comparison& result, const std::string& more) {
    bench_.report(name_ + " " + direction, direction, result, contents_.size(),
                  extra_member("codec", "\"" + codec::codec_name(settings_.codec) + "\"") +
                      extra_member("level", std::to_string(settings_.clevel)) + more);
  }

  void decode_own(codec::BlockDecoder& decoder) {
    decoder.decode_all(codec::open_chunk(chunk_, settings_.typesize), chunk_, decoded_);
  }

  const Bench& bench_;
  codec::EncodeSettings settings_;
  std::string name_;
  ByteVector contents_, chunk_, decoded_;
};

void compare_case(const Bench& bench, CodecId codec, int level, const std::string& filters,
                  std::int32_t typesize, std::int32_t blocksize = kBlockSize) {
  codec::EncodeSettings settings;
  settings.codec = codec;
  settings.clevel = level;
  settings.typesize = typesize;
  settings.blocksize = blocksize;
  settings.filters = named_filters(filters, static_cast<std::size_t>(typesize));
  const std::string name = codec::codec_name(codec) + "-" + std::to_string(level) + " " + filters +
                           " " + std::to_string(typesize) +
                           (blocksize == kChosenBlockSize ? " own blocks" : "");
  if (!bench.wants(name + " encode") && !bench.wants(name + " decode")) return;
  Case compared(bench, settings, name);
  compared.encode();
  compared.decode();
}

void compare_codecs(const Bench& bench) {
  for (const CodecId codec : kCodecs) {
    for (const int level : kLevels) {
      compare_case(bench, codec, level, "none", 1);
      compare_case(bench, codec, level, "shuffle", 4);
      compare_case(bench, codec, level, "shuffle", 4, kChosenBlockSize);
      compare_case(bench, codec, level, "bitshuffle", 2);
    }
    for (const std::int32_t typesize : {2, 3, 8, 12}) {
      compare_case(bench, codec, kUsualLevel, "shuffle", typesize);
    }
    for (const std::int32_t typesize : {1, 4, 8, 12}) {
      compare_case(bench, codec, kUsualLevel, "bitshuffle", typesize);
    }
    for (const std::int32_t typesize : {2, 4, 8}) {
      compare_case(bench, codec, kUsualLevel, "none", typesize);
      compare_case(bench, codec, kUsualLevel, "delta", typesize);
      compare_case(bench, codec, kUsualLevel, "delta+shuffle", typesize);
      compare_case(bench, codec, kUsualLevel, "shuffle+bytedelta", typesize);
    }
  }
}

int work(int argc, char** argv) {
  if (argc < 4 || argc > 5) return 2;
  const Blosc2 blosc2(argv[1]);
  const Bench bench{blosc2, static_cast<std::size_t>(std::atoll(argv[2])),
                    static_cast<std::size_t>(std::atoll(argv[3])), argc > 4 ? argv[4] : ""};
  std::printf("{\"rows\": [");
  compare_filters(bench);
  compare_codecs(bench);
  std::printf("]}\n");
  return 0;
}

}  // namespace
}  // namespace bloscfs::test

int main(int argc, char** argv) {
  try {
    return bloscfs::test::work(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "codec_bench: %s\n", error.what());
    return 1;
  }
}
