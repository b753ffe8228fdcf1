// Many readers of one file share its decoded blocks.

#include <boost/test/unit_test.hpp>
#include <fcntl.h>

#include "tests/peer/request.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/digest.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/peer.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/sanitizers.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kSharedSize = 24 << 20, kSharedChunk = 1 << 20, kSharedBlock = 32 << 10;

/// Reads a file in several processes at once. With `some_direct` every second one uses O_DIRECT.
void read_in_processes(const fs_std::path& path, const std::string& expected, int processes,
                       bool some_direct) {
  const TempDir logs;
  std::vector<Child> readers;
  for (int i = 0; i < processes; ++i) {
    const std::string flags = some_direct && i % 2 == 1 ? " iflag=direct" : "";
    readers.emplace_back(
        Arguments{"sh", "-c",
                  "dd bs=256K status=none if='" + path.string() + "'" + flags + " | sha256sum"},
        (logs / std::to_string(i)).string());
  }
  for (int i = 0; i < processes; ++i) {
    BOOST_REQUIRE(readers[static_cast<std::size_t>(i)].wait(Seconds(60)));
    const auto log = read_file(logs / std::to_string(i));
    BOOST_TEST(std::string(log.begin(), log.end()).substr(0, 64) == expected);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sharing)

BOOST_AUTO_TEST_CASE(eight_processes_decode_each_block_once, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("text", 1, kSharedSize, 1);
  Cut cut;
  cut.chunksize = kSharedChunk;
  cut.blocksize = kSharedBlock;
  write_file(source / "a.b2frame", flat_frame(contents, cut));
  const auto check = [](const nlohmann::json& stats) {
    BOOST_TEST(stats.at("blocks_decoded").get<std::size_t>() == kSharedSize / kSharedBlock);
    BOOST_TEST(stats.at("chunks_opened").get<std::size_t>() == kSharedSize / kSharedChunk);
    BOOST_TEST(stats.at("index_blocks_decoded").get<int>() == 1);
  };
  const std::string expected = sha256(contents);
  check(counters_of_reading(source / "a.b2frame", {}, kSharedSize, [&](const Mount& mount) {
    read_in_processes(mount / "a", expected, 8, false);
  }));
  Mount mount(source / "a.b2frame");
  {
    // Without an O_DIRECT reader, the daemon drops blocks early that the kernel has cached.
    const Fd direct(open((mount / "a").c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    read_in_processes(mount / "a", expected, 8, true);
  }
  check(mount.stats());
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(eight_processes_cost_the_time_of_one,
                     *precondition(needs_fuse_unsanitized) * precondition(needs_peer)) {
  const TempDir source;
  PeerRequest request;
  request.path = source / "a.b2frame";
  request.codec = 4;  // zlib, which is slow to decode
  request.level = 1;
  request.kind = "text";
  request.nbytes = kSharedSize;
  request.chunksize = kSharedChunk;
  request.blocksize = kSharedBlock;
  const auto written = run_peer(request);
  BOOST_REQUIRE_MESSAGE(written.ok(), written.description());
  const auto expected = sha256(make_contents("text", request.seed, kSharedSize, 1));
  Seconds spent[2];
  for (const int processes : {1, 8}) {
    Mount mount(source / "a.b2frame");
    read_in_processes(mount / "a", expected, processes, false);
    spent[processes == 8] = process_cpu(mount.pid());
  }
  BOOST_TEST(spent[1].count() <= 2 * spent[0].count() + 0.3);
}

BOOST_AUTO_TEST_CASE(small_cache_still_reads_large_files, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("text", 2, kSharedSize, 1);
  Cut cut;
  cut.chunksize = kSharedChunk;
  cut.blocksize = kSharedBlock;
  write_file(source / "a.b2frame", flat_frame(contents, cut));
  MountSettings settings;
  settings.options = {"cache_size=2M"};
  Mount mount(source / "a.b2frame", settings);
  read_in_processes(mount / "a", sha256(contents), 3, true);
  const auto stats = mount.stats();
  BOOST_TEST(stats.at("cache_bytes").get<std::uint64_t>() <= 2u << 20);
  BOOST_TEST(stats.at("cache_evictions").get<std::uint64_t>() > 0u);
  if (!kSanitized) BOOST_TEST(process_memory(mount.pid(), "VmHWM") <= 50u << 20);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
