#pragma once
// Settings and contents for tests that encode.

#include <initializer_list>
#include <random>
#include <string>

#include "codec/chunk_encoder.hpp"
#include "tests/codec/chunk_builder.hpp"

namespace bloscfs::test {

inline constexpr codec::FilterStep kShuffle{codec::FilterId::shuffle, 0};
inline constexpr codec::FilterStep kDelta{codec::FilterId::delta, 0};

codec::EncodeSettings make_settings(codec::CodecId codec, int clevel, std::int32_t typesize,
                                    std::initializer_list<codec::FilterStep> filters = {});
/// Returns valid settings. random_contents() returns up to 300,000 bytes for them, mostly no whole
/// items.
codec::EncodeSettings random_settings(std::mt19937_64& random);
ByteVector random_contents(std::mt19937_64& random, const codec::EncodeSettings& settings);
/// True if decoding returns the encoded contents unchanged.
bool is_lossless(const codec::EncodeSettings& settings);
std::string describe(const codec::EncodeSettings& settings, std::size_t nbytes);
/// Returns BLOSCFS_SEED of the environment or a new seed, and prints it.
std::uint64_t test_seed();

/// Returns the stored bytes. Makes a stand-alone chunk of a special one.
ByteVector stored_bytes(const codec::EncodedChunk& chunk, std::size_t nbytes,
                        std::int32_t typesize);

}  // namespace bloscfs::test
