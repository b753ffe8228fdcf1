#include "codec/dictionary.hpp"

#include <algorithm>

#include <zdict.h>

namespace bloscfs::codec {
namespace {

constexpr std::size_t kNbytesPerDictionary = 20;  // a dictionary is at most 1/20 of a chunk
constexpr std::size_t kMinSize = 256;
constexpr std::size_t kMinStreams = 8;
constexpr std::size_t kSamplePart = 16;  // samples are 1/16 of a stream

struct Samples {
  std::vector<std::uint8_t> bytes;
  std::vector<std::size_t> sizes;
};

/// Returns the first `size` bytes of each stream.
Samples take_samples(const ChunkHeader& header, Bytes filtered, std::size_t size) {
  Samples samples;
  const auto blocksize = static_cast<std::size_t>(header.blocksize);
  for (std::size_t at = 0; at < filtered.size(); at += blocksize) {
    const Bytes block = filtered.subspan(at, std::min(blocksize, filtered.size() - at));
    const auto count =
        static_cast<std::size_t>(header.stream_count(static_cast<std::int64_t>(block.size())));
    const std::size_t stream_size = block.size() / count;
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes sample = block.subspan(i * stream_size, std::min(size, stream_size));
      samples.bytes.insert(samples.bytes.end(), sample.begin(), sample.end());
      samples.sizes.push_back(sample.size());
    }
  }
  return samples;
}

std::vector<std::uint8_t> train(const Samples& samples, std::size_t most) {
  std::vector<std::uint8_t> dictionary(most);
  const std::size_t size =
      ZDICT_trainFromBuffer(dictionary.data(), most, samples.bytes.data(), samples.sizes.data(),
                            static_cast<unsigned>(samples.sizes.size()));
  dictionary.resize(ZDICT_isError(size) != 0 ? 0 : size);
  return dictionary;
}

}  // namespace

std::vector<std::uint8_t> make_dictionary(const ChunkHeader& header, Bytes filtered) {
  const std::size_t most =
      std::min<std::size_t>(kMaxDictionarySize, filtered.size() / kNbytesPerDictionary);
  const auto streams = static_cast<std::size_t>(header.block_count) *
                       static_cast<std::size_t>(header.stream_count(header.blocksize));
  const std::size_t sample = filtered.size() / std::max(streams, kMinStreams) / kSamplePart;
  if (most < kMinSize || sample == 0) return {};
  if (header.codec == CodecId::zstd) return train(take_samples(header, filtered, sample), most);
  // For LZ4, the samples themselves are the dictionary. LZ4 encodes near samples best, but any
  // stream may need any sample. So takes some bytes of each stream.
  Samples samples = take_samples(header, filtered, std::max<std::size_t>(most / streams, 1));
  samples.bytes.resize(std::min(samples.bytes.size(), most));
  return std::move(samples.bytes);
}

}  // namespace bloscfs::codec
