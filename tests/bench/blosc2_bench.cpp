// usage: blosc2_bench LIBRARY create|encode|decode ARGUMENTS...
// Measures how long C-Blosc2 takes for the work of bloscfs. Prints one JSON object to stdout.
//
//   create INPUT OUTPUT SETTINGS   encodes a file to a contiguous frame, chunk after chunk
//   encode INPUT SETTINGS          encodes chunks from memory to memory
//   decode FRAME THREADS           decodes the chunks of a frame that is in memory already
//   block FRAME                    decodes single blocks from all over the frame: the median time
//                                  of a block in microseconds, and the mean of its stored bytes
//
// SETTINGS are CODEC LEVEL FILTER TYPESIZE CHUNKSIZE BLOCKSIZE THREADS, as numbers of the format.
// With a BLOCKSIZE of 0 the library chooses it.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/peer/blosc2_peer.hpp"

namespace bloscfs::test {
namespace {

using Clock = std::chrono::steady_clock;
using ByteVector = std::vector<std::uint8_t>;

constexpr std::size_t kMostBlocks = 2000;
constexpr std::size_t kTypesizeAt = 3;  // offset in a chunk's header

struct Settings {
  PeerCompression compression;
  std::int32_t chunksize;
};

Settings parse_settings(char** words) {
  const auto number = [&](int i) { return std::atoi(words[i]); };
  Settings settings;
  settings.compression.codec = static_cast<std::uint8_t>(number(0));
  settings.compression.level = static_cast<std::uint8_t>(number(1));
  settings.compression.filters[5] = static_cast<std::uint8_t>(number(2));
  settings.compression.typesize = number(3);
  settings.chunksize = number(4);
  settings.compression.blocksize = number(5);
  settings.compression.threads = static_cast<std::int16_t>(number(6));
  return settings;
}

void check(std::int64_t result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + ": error " + std::to_string(result));
}

ByteVector read_whole(const char* path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw std::runtime_error(std::string("cannot read ") + path);
  ByteVector bytes(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

void report(Clock::time_point begin, std::int64_t nbytes, std::int64_t cbytes) {
  const std::chrono::duration<double> taken = Clock::now() - begin;
  std::printf("{\"seconds\": %.6f, \"nbytes\": %lld, \"cbytes\": %lld}\n", taken.count(),
              static_cast<long long>(nbytes), static_cast<long long>(cbytes));
}

void create(const Blosc2& blosc2, const char* input, std::string output, Settings settings) {
  PeerDecompression decompression;
  PeerStorage storage;
  storage.path = output.data();
  storage.compression = &settings.compression;
  storage.decompression = &decompression;
  const auto begin = Clock::now();
  PeerSuperChunk* const schunk = blosc2.schunk_new(&storage);
  if (schunk == nullptr) throw std::runtime_error("schunk_new");
  std::FILE* const in = std::fopen(input, "rb");
  if (in == nullptr) throw std::runtime_error("fopen");
  ByteVector chunk(static_cast<std::size_t>(settings.chunksize));
  std::int64_t nbytes = 0;
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), in)) {
    check(blosc2.append_buffer(schunk, chunk.data(), static_cast<std::int32_t>(got)), "append");
    nbytes += static_cast<std::int64_t>(got);
  }
  std::fclose(in);
  blosc2.schunk_free(schunk);
  report(begin, nbytes, 0);
}

void encode(const Blosc2& blosc2, const char* input, const Settings& settings) {
  const ByteVector contents = read_whole(input);
  void* const context = blosc2.create_cctx(settings.compression);
  ByteVector chunk(static_cast<std::size_t>(settings.chunksize) + 32);
  std::int64_t cbytes = 0;
  const auto begin = Clock::now();
  for (std::size_t at = 0; at < contents.size();) {
    const std::size_t size =
        std::min(static_cast<std::size_t>(settings.chunksize), contents.size() - at);
    const int got =
        blosc2.compress_ctx(context, contents.data() + at, static_cast<std::int32_t>(size),
                            chunk.data(), static_cast<std::int32_t>(chunk.size()));
    check(got, "compress_ctx");
    cbytes += got;
    at += size;
  }
  report(begin, static_cast<std::int64_t>(contents.size()), cbytes);
  blosc2.free_ctx(context);
}

/// The chunks of a frame, in memory.
class LoadedFrame {
 public:
  struct Chunk {
    std::uint8_t* bytes;
    std::int32_t cbytes, nbytes, blocksize;
    bool needs_free;
  };

  LoadedFrame(const Blosc2& blosc2, const char* path)
      : blosc2_(blosc2), schunk_(blosc2.schunk_open(path)) {
    if (schunk_ == nullptr) throw std::runtime_error("schunk_open");
    for (std::int64_t i = 0;; i++) {
      Chunk chunk{};
      if (blosc2.get_chunk(schunk_, i, &chunk.bytes, &chunk.needs_free) < 0) break;
      chunks_.push_back(chunk);
      Chunk& kept = chunks_.back();
      check(blosc2.cbuffer_sizes(kept.bytes, &kept.nbytes, &kept.cbytes, &kept.blocksize), "sizes");
    }
  }
  ~LoadedFrame() {
    for (const Chunk& chunk : chunks_)
      if (chunk.needs_free) std::free(chunk.bytes);
    blosc2_.schunk_free(schunk_);
  }
  LoadedFrame(const LoadedFrame&) = delete;
  LoadedFrame& operator=(const LoadedFrame&) = delete;

  const std::vector<Chunk>& chunks() const { return chunks_; }

  std::int32_t largest_chunk() const {
    std::int32_t largest = 0;
    for (const Chunk& chunk : chunks_) largest = std::max(largest, chunk.nbytes);
    return largest;
  }

 private:
  const Blosc2& blosc2_;
  PeerSuperChunk* schunk_;
  std::vector<Chunk> chunks_;
};

void* decompression_context(const Blosc2& blosc2, int threads) {
  PeerDecompression settings;
  settings.threads = static_cast<std::int16_t>(threads);
  return blosc2.create_dctx(settings);
}

void decode(const Blosc2& blosc2, const char* path, int threads) {
  const LoadedFrame frame(blosc2, path);
  void* const context = decompression_context(blosc2, threads);
  const std::int32_t largest = frame.largest_chunk();
  ByteVector out(static_cast<std::size_t>(largest), 1);
  std::int64_t nbytes = 0, cbytes = 0;
  const auto begin = Clock::now();
  for (const LoadedFrame::Chunk& chunk : frame.chunks()) {
    check(blosc2.decompress_ctx(context, chunk.bytes, chunk.cbytes, out.data(), largest),
          "decompress_ctx");
    nbytes += chunk.nbytes;
    cbytes += chunk.cbytes;
  }
  report(begin, nbytes, cbytes);
  blosc2.free_ctx(context);
}

void decode_blocks(const Blosc2& blosc2, const char* path) {
  const LoadedFrame frame(blosc2, path);
  void* const context = decompression_context(blosc2, 1);
  ByteVector out(static_cast<std::size_t>(frame.largest_chunk()));
  std::vector<double> latencies;
  std::int64_t stored = 0, blocks = 0;
  for (int pass = 0; latencies.size() < kMostBlocks; pass++)
    for (const LoadedFrame::Chunk& chunk : frame.chunks()) {
      const int typesize = chunk.bytes[kTypesizeAt];
      const int blocks_here = std::max(1, chunk.nbytes / chunk.blocksize);
      const int items = std::min(chunk.blocksize, chunk.nbytes) / typesize;
      // Each pass and each chunk begins at another block, so that no block is in the processor's
      // cache.
      const int block = static_cast<int>((latencies.size() * 7 + static_cast<unsigned>(pass)) %
                                         static_cast<unsigned>(blocks_here));
      const auto begin = Clock::now();
      check(blosc2.getitem_ctx(context, chunk.bytes, chunk.cbytes, block * items, items, out.data(),
                               chunk.nbytes),
            "getitem_ctx");
      const std::chrono::duration<double, std::micro> taken = Clock::now() - begin;
      latencies.push_back(taken.count());
      stored += chunk.cbytes;
      blocks += blocks_here;
    }
  std::sort(latencies.begin(), latencies.end());
  std::printf("{\"microseconds\": %.3f, \"stored\": %lld}\n", latencies[latencies.size() / 2],
              static_cast<long long>(stored / blocks));
  blosc2.free_ctx(context);
}

int work(int argc, char** argv) {
  if (argc < 3) return 2;
  const Blosc2 blosc2(argv[1]);
  const std::string action = argv[2];
  if (action == "create" && argc == 12) {
    create(blosc2, argv[3], argv[4], parse_settings(argv + 5));
  } else if (action == "encode" && argc == 11) {
    encode(blosc2, argv[3], parse_settings(argv + 4));
  } else if (action == "decode" && argc == 5) {
    decode(blosc2, argv[3], std::atoi(argv[4]));
  } else if (action == "block" && argc == 4) {
    decode_blocks(blosc2, argv[3]);
  } else {
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace bloscfs::test

int main(int argc, char** argv) {
  try {
    return bloscfs::test::work(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "blosc2_bench: %s\n", error.what());
    return 1;
  }
}
