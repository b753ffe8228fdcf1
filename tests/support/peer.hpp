#pragma once
// Runs C-Blosc2, another implementation of the formats. It runs in a process of its own, so that a
// crash of the library does not end the tests.

#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/subprocess.hpp"

namespace bloscfs::test {

struct Peer {
  std::string shared_object;  ///< path of the library
  std::string reason;         ///< why the library is missing; empty if it was found
};

/// Looks for the library, or fetches it into the build directory. Does this at the first call only.
const Peer& peer();

/// Runs the program blosc2_writer on a request (see tests/peer/request.hpp).
ProcessResult run_peer(const nlohmann::json& request);
/// Runs the program frame_editor on a request (see tests/peer/frame_request.hpp).
ProcessResult run_frame_editor(const nlohmann::json& request);

}  // namespace bloscfs::test
