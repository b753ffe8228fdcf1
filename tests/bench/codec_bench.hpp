#pragma once
// Parts of the codec's benchmark: what it compares, and how a row of its result is put down.

#include <array>
#include <cstdint>
#include <string>

#include "codec/encode_settings.hpp"
#include "tests/bench/alternation.hpp"
#include "tests/peer/blosc2_peer.hpp"

namespace bloscfs::test {

struct Bench {
  const Blosc2& blosc2;
  std::size_t size;    ///< bytes of a chunk
  std::size_t rounds;  ///< of each comparison
  std::string only;    ///< part of the names of rows that are wanted

  bool wants(const std::string& name) const { return name.find(only) != std::string::npos; }
  /// Prints a row. `extra` are more of its members, each after a comma.
  void report(const std::string& name, const std::string& kind, const Comparison& result,
              std::size_t nbytes, const std::string& extra = {}) const;
};

using Filters = std::array<codec::FilterStep, codec::kFilterSlots>;

/// Slots by the name that rows have for them.
Filters named_filters(const std::string& name, std::size_t typesize);

/// The same settings for the peer, in one thread.
PeerCompression peer_settings(const codec::EncodeSettings& settings);

/// Throws std::runtime_error for negative results.
void check(std::int64_t result, const char* what);

/// Filters alone, against C-Blosc2's and against memcpy.
void compare_filters(const Bench& bench);

}  // namespace bloscfs::test
