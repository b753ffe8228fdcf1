#include "tests/peer/created_frame.hpp"

#include <algorithm>
#include <stdexcept>

#include "tests/support/mount.hpp"
#include "tests/support/peer.hpp"

namespace bloscfs::test {
namespace {

/// C-Blosc2 2.17 has no dictionaries for LZ4, and fails on Zstandard dictionaries in frames.
bool peer_reads(const Creation& creation) {
  return std::none_of(creation.options.begin(), creation.options.end(),
                      [](const std::string& option) { return option == "--dict"; });
}

}  // namespace

Creation creation_for_peer(std::mt19937_64& random, bool array) {
  for (;;) {
    Creation creation = array ? random_array_creation(random) : random_flat_creation(random);
    if (peer_reads(creation)) return creation;
  }
}

ByteVector contents_in_frame(const Creation& creation) {
  if (!creation.is_array) return creation.input;
  constexpr int kPrefix = 10;
  const int text = creation.input[8] + 256 * creation.input[9];
  return {creation.input.begin() + kPrefix + text, creation.input.end()};
}

void create_frame(const Creation& creation, const fs_std::path& frame, const fs_std::path& input,
                  const Arguments& options) {
  write_file(input, creation.input);
  Arguments command{b2frame_program(), "create"};
  for (const Arguments& some :
       {creation.options, options, Arguments{input.string(), "-o", frame.string()}})
    command.insert(command.end(), some.begin(), some.end());
  const ProcessResult result = run(command);
  if (!result.ok()) throw std::runtime_error(result.description());
}

nlohmann::json read_by_peer(const fs_std::path& frame, const fs_std::path& out) {
  ProcessSettings settings;
  settings.limit = Seconds(20);
  settings.environment = {"ASAN_OPTIONS=detect_leaks=0"};
  const ProcessResult result = run({BLOSCFS_TEST_BUILD_ROOT "/tests/peer/create_reader",
                                    peer().shared_object, frame.string(), out.string()},
                                   settings);
  if (!result.ok()) throw std::runtime_error(result.description());
  return nlohmann::json::parse(result.out);
}

}  // namespace bloscfs::test
