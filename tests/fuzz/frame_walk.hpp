#pragma once
// Reads a part of everything that a snapshot offers, as a mount does.

#include <cstdint>
#include <vector>

#include "codec/error.hpp"
#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::fuzz {

/// Runs `action`, which may refuse its input.
template <typename Action>
void tolerate(const Action& action) {
  try {
    action();
  } catch (const std::system_error&) {
  }
}

inline constexpr std::size_t kMaxMemory = std::size_t{4} << 20;
inline constexpr std::int64_t kMaxSteps = 8;

inline std::vector<std::uint8_t> decode_block(const Snapshot& snapshot, const OpenedChunk& opened,
                                              std::int32_t block, codec::BlockDecoder& decoder,
                                              Bytes reference) {
  const codec::ByteRange range = opened.chunk.block_stored(block);
  std::vector<std::uint8_t> stored(static_cast<std::size_t>(range.size));
  snapshot.read_stored(opened, range, stored);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(opened.chunk.block_content(block).size));
  decoder.decode(opened.chunk, block, stored, reference, out);
  return out;
}

inline void walk_chunk(const Snapshot& snapshot, const ChunkPlace& place,
                       codec::BlockDecoder& decoder) {
  const OpenedChunk opened = snapshot.open_chunk(place, kMaxMemory);
  const codec::Chunk& chunk = opened.chunk;
  if (chunk.header().is_special() || chunk.decode_memory() > std::int64_t{kMaxMemory}) return;
  std::vector<std::uint8_t> reference;
  for (std::int32_t block = 0; block < chunk.block_count() && block < kMaxSteps; ++block)
    tolerate([&] {
      const bool refers = chunk.needs_reference(block);
      if (refers && reference.empty()) reference = decode_block(snapshot, opened, 0, decoder, {});
      decode_block(snapshot, opened, block, decoder, refers ? Bytes(reference) : Bytes());
    });
  tolerate([&] { snapshot.verify_checksum(opened, 1); });
}

inline void walk_page(const Snapshot& snapshot, std::int64_t number, const ChunkMap* map,
                      codec::BlockDecoder& decoder) {
  if (snapshot.page_memory(number, map) > std::int64_t{kMaxMemory}) return;
  const auto page = snapshot.read_page(number, map, decoder);
  for (std::int64_t i = 0; i < page->chunk_count() && i < kMaxSteps; ++i)
    tolerate([&] { walk_chunk(snapshot, page->place(page->first_chunk() + i), decoder); });
}

inline void walk(const Snapshot& snapshot) {
  codec::BlockDecoder decoder;
  for (const MetalayerEntry& entry : snapshot.metalayers())
    tolerate([&] { snapshot.read_metalayer(entry); });
  for (const MetalayerEntry& entry : snapshot.vlmetalayers())
    tolerate([&] { snapshot.read_vlmetalayer(entry, kMaxMemory, decoder); });
  tolerate([&] { snapshot.all_chunks_special(); });
  if (snapshot.info().nchunks == 0) return;
  tolerate([&] { snapshot.recorded_checksums(snapshot.info().nchunks - 1, 1, decoder); });
  tolerate([&] {
    std::unique_ptr<const ChunkMap> map;
    if (snapshot.needs_chunk_map()) map = snapshot.read_chunk_map(kMaxMemory, decoder);
    const std::int64_t nbytes = snapshot.info().nbytes;
    for (const std::int64_t offset : {std::int64_t{0}, nbytes / 2, nbytes - 1})
      tolerate(
          [&] { walk_page(snapshot, snapshot.page_at(offset, map.get()), map.get(), decoder); });
  });
}

}  // namespace bloscfs::frame::fuzz
