// One user's requests cost that user, however dear a file makes them.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "codec/chunk_encoder.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/proc.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::int64_t kColumns = 256;
constexpr std::size_t kItem = 16;
constexpr std::size_t kChunk = std::size_t{60'000'000} / kItem * kItem;

/// An array of 256 columns, each a chunk of 60 MB with six filters, all of them the same bytes of
/// the file: each 4 KiB of it have an item of every column.
ByteVector dear_array() {
  ByteVector column(kChunk);
  for (std::size_t at = 0; at < column.size(); at++)
    column[at] = static_cast<std::uint8_t>(at * at % 251);
  codec::EncodeSettings settings;
  settings.codec = codec::CodecId::zlib;
  settings.clevel = 1;
  settings.typesize = kItem;
  settings.blocksize = static_cast<std::int32_t>(kChunk);
  settings.split = codec::SplitMode::never;
  settings.filters.fill({codec::FilterId::bitshuffle, 0});
  const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(column);

  const auto rows = static_cast<std::int64_t>(kChunk / kItem);
  ByteVector b2nd = b2nd_metalayer({rows, kColumns}, "|S16");
  // The extents of chunks and blocks along the second dimension.
  const ByteVector wide{0xd2, 0, 0, 1, 0}, narrow{0xd2, 0, 0, 0, 1};
  for (auto at = b2nd.begin();
       (at = std::search(at, b2nd.end(), wide.begin(), wide.end())) != b2nd.end();)
    at = std::copy(narrow.begin(), narrow.end(), at);

  FramePlan plan;
  plan.typesize = kItem;
  plan.chunksize = plan.blocksize = kChunk;
  plan.nbytes = static_cast<std::int64_t>(kChunk) * kColumns;
  plan.metalayers = {{"b2nd", b2nd}};
  return encode_frame(plan, chunk, std::vector<std::int64_t>(kColumns, 0));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(budgets)

BOOST_AUTO_TEST_CASE(read_costs_two_seconds_of_the_processor_at_most,
                     *precondition(needs_fuse_unsanitized)) {
  const TempDir source;
  write_file(source / "a.b2nd", dear_array());
  Mount mount(source.path());
  const Fd file(open((mount / "a.npy").c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  ByteVector bytes(4096);
  const Seconds before = process_cpu(mount.pid());
  BOOST_TEST(pread(file.get(), bytes.data(), bytes.size(), 1 << 20) == -1);
  BOOST_TEST(errno == EFBIG);
  // And a step, of which the slowest takes some tenths of a second.
  BOOST_TEST((process_cpu(mount.pid()) - before).count() < 4.0);
  BOOST_TEST(mount.log().find("more than 2 s of processor time") != std::string::npos, mount.log());
}

BOOST_AUTO_TEST_CASE(reader_that_is_killed_is_gone, *precondition(needs_fuse_unsanitized)) {
  const TempDir source;
  write_file(source / "a.b2nd", dear_array());
  Mount mount(source.path());
  const TempDir logs;
  Child reader({"dd", "if=" + (mount / "a.npy").string(), "of=/dev/null", "bs=4096", "skip=256",
                "count=1", "iflag=direct"},
               logs / "log");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Seconds before = process_cpu(mount.pid());
  reader.signal(SIGKILL);
  BOOST_TEST(reader.wait(Seconds(10)));
  BOOST_TEST((process_cpu(mount.pid()) - before).count() < 1.2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
