#pragma once
// Random combinations of everything that C-Blosc2 lets one choose for a frame.

#include <random>
#include <string>

#include "tests/peer/request.hpp"

namespace bloscfs::test {

/// A valid request, without paths.
PeerRequest random_request(std::mt19937_64& random);
/// Whether the filters lose information, so that only the peer knows the contents.
bool is_lossy(const PeerRequest& request);
/// One line that tells it apart.
std::string describe(const PeerRequest& request);

}  // namespace bloscfs::test
