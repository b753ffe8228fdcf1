#include "tests/support/peer.hpp"

namespace bloscfs::test {

namespace {

Peer find_peer() {
  ProcessSettings settings;
  settings.limit = Seconds(300);
  const auto found = run({BLOSCFS_TEST_SOURCE_ROOT "/tests/peer/fetch_libblosc2.sh",
                          BLOSCFS_TEST_BUILD_ROOT "/libblosc2"},
                         settings);
  if (found.ok()) return {found.out.substr(0, found.out.find('\n')), ""};
  return {"", found.err.empty() ? "fetch_libblosc2.sh failed"
                                : found.err.substr(0, found.err.find('\n'))};
}

ProcessResult run_with_peer(const std::string& program, const nlohmann::json& request) {
  ProcessSettings settings;
  settings.limit = Seconds(20);
  settings.environment = {"ASAN_OPTIONS=detect_leaks=0"};  // ignores leaks of C-Blosc2
  return run(
      {BLOSCFS_TEST_BUILD_ROOT "/tests/peer/" + program, peer().shared_object, request.dump()},
      settings);
}

}  // namespace

const Peer& peer() {
  static const Peer found = find_peer();
  return found;
}

ProcessResult run_peer(const nlohmann::json& request) {
  return run_with_peer("blosc2_writer", request);
}

ProcessResult run_frame_editor(const nlohmann::json& request) {
  return run_with_peer("frame_editor", request);
}

}  // namespace bloscfs::test
