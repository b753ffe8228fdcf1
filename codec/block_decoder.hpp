#pragma once
// Decodes one block of a chunk from its stored bytes. A decoder owns codec contexts and scratch
// memory, so only one thread at a time may use it.

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

  /// Decodes block number `block` of `chunk` into `out`.
  /// - `stored` is exactly chunk.block_stored(block).
  /// - `reference` is the contents of block 0 if chunk.needs_reference(block), else empty.
  /// - `out` has chunk.block_content(block).size bytes.
  /// Throws Error: malformed, or unsupported with the name of the codec or filter. `out` is then
  /// unspecified.
  void decode(const Chunk& chunk, std::int32_t block, Bytes stored, Bytes reference,
              MutableBytes out);

  /// Decodes all blocks into `out`, which has chunk.nbytes() bytes. `stored` is the whole chunk.
  void decode_all(const Chunk& chunk, Bytes stored, MutableBytes out);

  /// Called between the steps of decoding a large block. An exception that it throws ends the
  /// decoding.
  using Checkpoint = void (*)();
  void set_checkpoint(Checkpoint checkpoint);

  /// Returns the bytes of scratch memory in use, without codec contexts.
  std::size_t scratch_memory() const;
  /// Frees the scratch memory if it has more than `keep` bytes.
  void trim(std::size_t keep);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloscfs::codec
