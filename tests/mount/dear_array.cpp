#include "tests/mount/dear_array.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "codec/chunk_encoder.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

constexpr std::int64_t kColumns = 256;
constexpr std::size_t kItem = 16;
constexpr std::size_t kChunk = std::size_t{50'000'000} / kItem * kItem;

}  // namespace

ByteVector dear_array() {
  ByteVector column(kChunk);
  // These bits neither match each other nor are stored uncompressed, so they are the slowest to
  // inflate.
  std::minstd_rand random(1);
  for (std::uint8_t& byte : column) byte = static_cast<std::uint8_t>(random() >> 8 & 0x13);
  codec::EncodeSettings settings;
  settings.codec = codec::CodecId::zlib;
  settings.clevel = 1;
  settings.typesize = kItem;
  settings.blocksize = static_cast<std::int32_t>(kChunk);
  settings.split = codec::SplitMode::never;
  settings.filters.fill({codec::FilterId::bitshuffle, 0});
  const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(column);

  const auto rows = static_cast<std::int64_t>(kChunk / kItem);
  ByteVector b2nd = b2nd_metalayer({rows, kColumns}, "|S16");
  // The extents of chunks and blocks along the second dimension, before and after the change.
  const ByteVector wide{0xd2, 0, 0, 1, 0}, narrow{0xd2, 0, 0, 0, 1};
  for (auto at = b2nd.begin();
       (at = std::search(at, b2nd.end(), wide.begin(), wide.end())) != b2nd.end();)
    at = std::copy(narrow.begin(), narrow.end(), at);

  FramePlan plan;
  plan.typesize = kItem;
  plan.chunksize = plan.blocksize = kChunk;
  plan.nbytes = static_cast<std::int64_t>(kChunk) * kColumns;
  plan.metalayers = {{"b2nd", b2nd}};
  return encode_frame(plan, chunk, std::vector<std::int64_t>(kColumns, 0));
}

}  // namespace bloscfs::test
