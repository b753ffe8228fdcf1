#pragma once
// XXH3-64, the checksum that the vlmetalayer bloscfs.xxh3 stores, of bytes that arrive in parts.

#include <cstdint>
#include <memory>
#include <new>

#include <xxhash.h>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline container {

class Checksum {
 public:
  Checksum() : state_(XXH3_createState(), &XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  void update(codec::Bytes part) { XXH3_64bits_update(state_.get(), part.data(), part.size()); }
  std::uint64_t digest() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

inline std::uint64_t checksum_of(codec::Bytes bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace bloscfs::frame::inline container
