#pragma once
// Parts of the codec's benchmark: what it compares, and how it prints a row.

#include <array>
#include <cstdint>
#include <string>

#include "codec/encode_settings.hpp"
#include "tests/bench/alternation.hpp"
#include "tests/peer/blosc2_peer.hpp"

namespace bloscfs::test {

struct Bench {
  const Blosc2& blosc2;
  std::size_t size;    ///< size of a chunk in bytes
  std::size_t rounds;  ///< rounds of each comparison
  std::string only;    ///< part of the names of the wanted rows

  bool wants(const std::string& name) const { return name.find(only) != std::string::npos; }
  /// Prints a row. `extra` has further members, each after a comma.
  void report(const std::string& name, const std::string& kind, const Comparison& result,
              std::size_t nbytes, const std::string& extra = {}) const;
};

using Filters = std::array<codec::FilterStep, codec::kFilterSlots>;

/// Returns the filter slots for a name that rows use.
Filters named_filters(const std::string& name, std::size_t typesize);

/// Returns the same settings for C-Blosc2, with one thread.
PeerCompression peer_settings(const codec::EncodeSettings& settings);

/// Throws std::runtime_error if the result is negative.
void check(std::int64_t result, const char* what);

/// Compares filters alone with those of C-Blosc2 and with memcpy.
void compare_filters(const Bench& bench);

}  // namespace bloscfs::test
