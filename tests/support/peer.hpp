#pragma once
// C-Blosc2, another implementation of the formats, run as a program of its own: what it breaks
// stays outside the tests.

#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/subprocess.hpp"

namespace bloscfs::test {

struct Peer {
  std::string shared_object;  ///< its path
  std::string reason;         ///< why there is none; empty when there is one
};

/// Looks for the library, or fetches it into the build directory, once.
const Peer& peer();

/// Runs the program blosc2_writer on a request; tests/peer/request.hpp says what it may hold.
ProcessResult run_peer(const nlohmann::json& request);
/// Runs the program frame_editor; tests/peer/frame_request.hpp says what it may be asked for.
ProcessResult run_frame_editor(const nlohmann::json& request);

}  // namespace bloscfs::test
