#pragma once
// Random combinations of all settings that C-Blosc2 offers for a frame.

#include <random>
#include <string>

#include "tests/peer/request.hpp"

namespace bloscfs::test {

/// Returns a valid request, without paths.
PeerRequest random_request(std::mt19937_64& random);
/// True if a filter loses information, so that only the peer knows the contents.
bool is_lossy(const PeerRequest& request);
/// Describes the request in one line that identifies it.
std::string describe(const PeerRequest& request);

}  // namespace bloscfs::test
