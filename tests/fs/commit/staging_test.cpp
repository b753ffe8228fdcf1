// New files that are larger than the limit for dirty bytes, and writers that wait for room.

#include <cerrno>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

constexpr const char* kSmallMemory = "cache_size=8M,dirty_limit=1M";
constexpr std::size_t kLarge = 5000001;

}  // namespace

BOOST_AUTO_TEST_SUITE(staging_in_process)

BOOST_AUTO_TEST_CASE(large_file_is_no_file_of_source_before_its_end) {
  const TempDir source;
  const ByteVector contents = make_contents("text", 1, kLarge, 1);
  InProcess mount(source.path(), kSmallMemory);
  {
    const InProcess::File file = mount.create("a");
    file.write(0, contents);
    BOOST_TEST(mount->stats().commits == 0u);
    BOOST_TEST(mount->stats().dirty_bytes <= 1u << 20);
    BOOST_TEST(stored_names(source.path()) == Names{".tmp"}, boost::test_tools::per_element());
    BOOST_CHECK(file.contents() == contents);
    file.write(100, ByteVector(1000));
  }
  mount->commit_written();
  BOOST_CHECK(shown_contents(source / "a.b2frame") == with_bytes(contents, 100, ByteVector(1000)));
}

BOOST_AUTO_TEST_CASE(array_is_recognised_though_it_was_staged) {
  const TempDir source;
  const std::string header = npy_header("<f4", {1250, 1000});
  const ByteVector contents =
      with_bytes(bytes_of(header), header.size(), make_contents("floats", 5, 5000000, 4));
  InProcess mount(source.path(), kSmallMemory);
  mount.write("a.npy", contents);
  mount.end();
  BOOST_TEST(stored_names(source.path()) == Names{"a.b2nd"}, boost::test_tools::per_element());
  BOOST_CHECK(shown_contents(source / "a.b2nd") == contents);
}

BOOST_AUTO_TEST_CASE(staged_file_is_removed_and_renamed) {
  const TempDir source;
  const ByteVector contents = make_contents("text", 1, kLarge, 1);
  InProcess mount(source.path(), kSmallMemory);
  {
    const InProcess::File file = mount.create("a"), other = mount.create("b");
    file.write(0, contents);
    other.write(0, contents);
    mount.rename("a", "c");
    mount.remove("b");
    BOOST_CHECK(other.contents() == contents);
  }
  mount->commit_written();
  BOOST_TEST(mount.names() == Names{"c"}, boost::test_tools::per_element());
  BOOST_CHECK(shown_contents(source / "c.b2frame") == contents);
  BOOST_CHECK(comes_true([&] { return stored_names(source.path()).size() == 1u; }));
}

BOOST_AUTO_TEST_CASE(changed_file_is_committed_where_there_is_no_room) {
  const TempDir source;
  const ByteVector old = make_contents("noise", 1, kLarge, 1);
  write_file(source / "a.b2frame", flat_frame(old));
  InProcess mount(source.path(), kSmallMemory);
  const InProcess::File file = mount.open("a");
  const ByteVector now = make_contents("noise", 2, kLarge, 1);
  file.write(0, now);
  BOOST_TEST(mount->stats().dirty_bytes <= 1u << 20);
  BOOST_TEST(mount->stats().commits > 0u);
  BOOST_CHECK(file.contents() == now);
}

// A user whose files cannot be committed leaves room for other users.
BOOST_AUTO_TEST_CASE(writer_gets_the_reason_and_others_go_on) {
  const TempDir source;
  const ByteVector old = make_contents("noise", 1, kLarge, 1);
  write_file(source / "a.b2frame", flat_frame(old));
  write_file(source / "b.b2frame", flat_frame("small"));
  InProcess mount(source.path(), kSmallMemory);
  {
    const FailedCalls failed(Call::write, ENOSPC, "/a.b2frame");
    {
      mount.caller.user = 1001;
      const InProcess::File file = mount.open("a");
      BOOST_TEST(error_of([&] { file.write(0, make_contents("noise", 2, kLarge, 1)); }) == ENOSPC);
    }
    mount.caller.user = 1002;
    const InProcess::File other = mount.open("b");
    BOOST_TEST(error_of([&] { other.write(0, bytes_of("SMALL")); }) == 0);
  }
  BOOST_TEST(error_of([&] { mount->commit_written(); }) == 0);
  BOOST_CHECK(shown_contents(source / "b.b2frame") == bytes_of("SMALL"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
