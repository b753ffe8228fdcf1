// b2frame and a mount read what C-Blosc2 writes.

#include "tests/support/peer.hpp"

#include <cstdlib>
#include <random>

#include <boost/test/unit_test.hpp>

#include "tests/peer/random_request.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/digest.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr int kReadCombinations = kSanitized ? 70 : 210;

/// A frame that the peer has made, and its contents.
struct PeerFrame {
  PeerRequest request;
  std::string shown;    ///< its name in a mount
  ByteVector contents;  ///< if a filter is lossy, as the peer reads them back
};

std::uint64_t chosen_seed() {
  const char* given = std::getenv("BLOSCFS_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device()();
}

/// The frames of all cases, each in a directory of its own. They are made only once.
class PeerFrames {
 public:
  static const PeerFrames& instance() {
    static const PeerFrames frames;
    return frames;
  }

  const fs_std::path& root() const { return directory_.path(); }
  const std::vector<PeerFrame>& frames() const { return frames_; }
  std::uint64_t seed() const { return seed_; }

 private:
  PeerFrames() : seed_(chosen_seed()) {
    std::mt19937_64 random(seed_);
    BOOST_TEST_MESSAGE("BLOSCFS_SEED=" << seed_);
    std::printf("BLOSCFS_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    for (int i = 0; i < kReadCombinations; ++i) add(i, random_request(random));
  }

  void add(int number, PeerRequest request) {
    const std::string stem = std::to_string(number);
    const bool array = !request.dtype.empty();
    request.path = directory_ / (stem + (array ? ".b2nd" : ".b2frame"));
    const auto readback = scratch_ / stem;
    request.readback = readback;
    const auto result = run_peer(request);
    BOOST_REQUIRE_MESSAGE(result.ok(), describe(request) << ": " << result.description());
    PeerFrame frame{request, stem + (array ? ".npy" : ""), read_file(readback)};
    const auto written =
        make_contents(request.kind, request.seed, static_cast<std::size_t>(request.nbytes),
                      static_cast<std::size_t>(request.typesize));
    if (!is_lossy(request))
      BOOST_REQUIRE_MESSAGE(frame.contents == written,
                            "the peer loses data itself: " << describe(request));
    frames_.push_back(std::move(frame));
    fs_std::remove(readback);
  }

  std::uint64_t seed_;
  TempDir directory_, scratch_;
  std::vector<PeerFrame> frames_;
};

std::string label(const PeerFrame& frame) {
  return "seed " + std::to_string(PeerFrames::instance().seed()) + ", " + describe(frame.request);
}

ByteVector shown_bytes(const PeerFrame& frame) {
  if (frame.request.dtype.empty()) return frame.contents;
  const std::string header = npy_header(frame.request.dtype, frame.request.shape);
  ByteVector bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), frame.contents.begin(), frame.contents.end());
  return bytes;
}

void check_metalayers(const PeerFrame& frame, const fs_std::path& path) {
  for (const auto& [prefix, layers] : {std::pair{"user.blosc2.meta.", frame.request.meta},
                                       std::pair{"user.blosc2.vlmeta.", frame.request.vlmeta}})
    for (const auto& layer : layers) {
      const auto value = get_xattr(path, prefix + layer.first);
      const auto content = from_hex(layer.second);
      BOOST_CHECK_MESSAGE(value && ByteVector(value->begin(), value->end()) == content,
                          prefix << layer.first << " of " << label(frame));
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(peer_frames)

BOOST_AUTO_TEST_CASE(b2frame_extracts_what_the_peer_wrote, *precondition(needs_peer)) {
  const TempDir scratch;
  for (const auto& frame : PeerFrames::instance().frames()) {
    const auto out = scratch / "out";
    const auto result = run({b2frame_program(), "extract", frame.request.path, "-o", out.string()});
    BOOST_CHECK_MESSAGE(result.ok(), label(frame) << ": " << result.description());
    if (result.ok()) BOOST_CHECK_MESSAGE(read_file(out) == frame.contents, label(frame));
    std::error_code ignored;
    fs_std::remove(out, ignored);
  }
}

BOOST_AUTO_TEST_CASE(b2frame_verifies_what_the_peer_wrote, *precondition(needs_peer)) {
  Arguments command{b2frame_program(), "verify"};
  for (const auto& frame : PeerFrames::instance().frames()) command.push_back(frame.request.path);
  ProcessSettings settings;
  settings.limit = Seconds(120);
  const auto result = run(command, settings);
  BOOST_CHECK_MESSAGE(result.ok(), result.description());
}

BOOST_AUTO_TEST_CASE(mount_shows_what_the_peer_wrote, *precondition(needs_fuse_and_peer)) {
  const auto& frames = PeerFrames::instance();
  Mount mount(frames.root());
  for (const auto& frame : frames.frames()) {
    const auto path = mount / frame.shown;
    BOOST_CHECK_EQUAL(errno_of_reading(path), 0);
    if (errno_of_reading(path) != 0) continue;
    BOOST_CHECK_MESSAGE(read_file(path) == shown_bytes(frame), label(frame));
    check_metalayers(frame, path);
  }
  BOOST_CHECK(mount.unmount().ok());
}

BOOST_AUTO_TEST_CASE(raw_mount_shows_elements_alone, *precondition(needs_fuse_and_peer)) {
  const auto& frames = PeerFrames::instance();
  MountSettings settings;
  settings.options = {"raw"};
  Mount mount(frames.root(), settings);
  for (const auto& frame : frames.frames()) {
    if (frame.request.dtype.empty()) continue;
    const auto path = mount / fs_std::path(frame.request.path).stem();
    BOOST_CHECK_MESSAGE(fs_std::exists(path) && read_file(path) == frame.contents, label(frame));
  }
  BOOST_CHECK(mount.unmount().ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
