// A sparse frame with arbitrary bytes as its index file and as its only two chunk files. The first
// byte of the input says how much of the rest is the index (in 256ths); the chunk follows the
// index.

#include <cstddef>
#include <cstdint>

#include "codec/error.hpp"
#include "frame/sframe/sframe.hpp"
#include "tests/fuzz/frame_walk.hpp"
#include "tests/fuzz/memory_source.hpp"

namespace {

using namespace bloscfs::frame;

constexpr std::uint32_t kChunkFiles = 2;

class FuzzedFiles final : public SframeFiles {
 public:
  FuzzedFiles(Bytes index, Bytes chunk)
      : index_(std::make_shared<fuzz::MemorySource>(index)),
        chunk_(std::make_shared<fuzz::MemorySource>(chunk)) {}

  std::shared_ptr<const ByteSource> index() const override { return index_; }
  std::shared_ptr<const ByteSource> open_chunk(std::uint32_t number) const override {
    if (number >= kChunkFiles) bloscfs::codec::throw_malformed("chunk file is missing");
    return chunk_;
  }
  std::optional<FileStamp> index_stamp() const override { return index_->stamp(); }
  std::shared_ptr<PeerLock> lock() const override { return nullptr; }

 private:
  std::shared_ptr<const ByteSource> index_, chunk_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const Bytes rest(data + 1, size - 1);
  const std::size_t index_size = rest.size() * (std::size_t{data[0]} + 1) / 256;
  fuzz::tolerate([&] {
    fuzz::walk(*open_sframe(
        std::make_shared<FuzzedFiles>(rest.first(index_size), rest.subspan(index_size))));
  });
  return 0;
}
