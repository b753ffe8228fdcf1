#pragma once
// Decodes one block of a chunk from that block's stored bytes.
// Owns codec contexts and scratch memory: one decoder per thread at a time.

#include <memory>

#include "codec/bytes.hpp"
#include "codec/chunk.hpp"

namespace bloscfs::codec {

class BlockDecoder {
 public:
  BlockDecoder();
  ~BlockDecoder();
  BlockDecoder(BlockDecoder&&) noexcept;
  BlockDecoder& operator=(BlockDecoder&&) noexcept;

  /// `stored` is exactly chunk.block_stored(block); `reference` block 0's contents where
  /// chunk.needs_reference(block), else empty; `out` is chunk.block_content(block).size bytes.
  /// Throws Error (malformed, or unsupported with the codec's or filter's name); `out` is then
  /// unspecified.
  void decode(const Chunk& chunk, std::int32_t block, Bytes stored, Bytes reference,
              MutableBytes out);

  /// All blocks to `out`, of chunk.nbytes() bytes; `stored` is the whole chunk.
  void decode_all(const Chunk& chunk, Bytes stored, MutableBytes out);

  /// Called between the steps of large blocks; what it throws ends the decoding.
  using Checkpoint = void (*)();
  void set_checkpoint(Checkpoint checkpoint);

  /// Bytes of scratch held now, codec contexts not counted.
  std::size_t scratch_memory() const;
  /// Gives back scratch above `keep` bytes.
  void trim(std::size_t keep);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloscfs::codec
