// What a file of SOURCE is taken for, and for how long.

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {

BOOST_AUTO_TEST_SUITE(classification)

BOOST_AUTO_TEST_CASE(containers_are_known_by_their_bytes) {
  const TempDir source;
  const ByteVector contents = make_contents("floats", 1, 4000, 8);
  write_file(source / "no.b2frame", bytes_of("text"));
  write_file(source / "array.b2nd", array_frame(contents, {500}, "<f8", 8));
  write_file(source / "packed.blp", bloscpack_file(contents, 1000));
  write_file(source / "other.dat", flat_frame(contents));
  write_file(source / "cut.b2frame", ByteVector(40));
  InProcess mount(source.path());
  BOOST_TEST(
      mount.names() == (Names{"array.npy", "cut.b2frame", "no.b2frame", "other.dat", "packed"}),
      boost::test_tools::per_element());
  const std::string header = npy_header("<f8", {500});
  const ByteVector file = with_bytes(bytes_of(header), header.size(), contents);
  BOOST_CHECK(mount.read("array.npy") == file);
  BOOST_CHECK(mount.read("packed") == contents);
  BOOST_CHECK(mount.read("other.dat") == contents);
  BOOST_CHECK(mount.read("no.b2frame") == bytes_of("text"));
}

BOOST_AUTO_TEST_CASE(raw_mounts_show_elements_without_a_header) {
  const TempDir source;
  const ByteVector contents = make_contents("floats", 1, 4000, 8);
  write_file(source / "array.b2nd", array_frame(contents, {500}, "<f8", 8));
  InProcess mount(source.path(), "raw");
  BOOST_TEST(mount.names() == Names{"array"}, boost::test_tools::per_element());
  BOOST_CHECK(mount.read("array") == contents);
}

BOOST_AUTO_TEST_CASE(verdicts_are_kept_while_the_file_is_the_same) {
  const TempDir source;
  for (const char* name : {"a.b2frame", "b.b2frame"}) write_file(source / name, flat_frame("one"));
  write_file(source / "plain", bytes_of("text"));
  // A file that has just changed may change again within the clock's tick.
  for (const auto& entry : fs_std::directory_iterator(source.path())) {
    const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    ::utimensat(AT_FDCWD, entry.path().c_str(), times, 0);
  }
  InProcess mount(source.path());
  BOOST_TEST(mount.names().size() == 3u);
  const std::uint64_t read = mount->stats().source.reads;
  BOOST_TEST(mount.names().size() == 3u);
  BOOST_TEST(mount.stat("a").st_size == 3);
  BOOST_TEST(mount->stats().source.reads - read <= 3u);
}

BOOST_AUTO_TEST_CASE(plain_file_that_another_program_makes_a_frame_is_shown_as_one) {
  const TempDir source;
  write_file(source / "a.b2frame", bytes_of("text"));
  InProcess mount(source.path());
  BOOST_TEST(mount.names() == Names{"a.b2frame"}, boost::test_tools::per_element());
  write_file(source / "a.b2frame", flat_frame("contents"));
  BOOST_TEST(mount.names() == Names{"a"}, boost::test_tools::per_element());
  BOOST_CHECK(mount.read("a") == bytes_of("contents"));
  write_file(source / "a.b2frame", bytes_of("text again"));
  BOOST_TEST(mount.names() == Names{"a.b2frame"}, boost::test_tools::per_element());
  BOOST_CHECK(mount.read("a.b2frame") == bytes_of("text again"));
}

// A disk that fails for a moment must not make raw bytes of frames for the rest of the mount.
BOOST_AUTO_TEST_CASE(verdict_of_a_failed_look_is_not_kept) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("contents"));
  InProcess mount(source.path());
  {
    const FailedCalls failed(Call::read, EIO, "a.b2frame");
    BOOST_TEST(error_of([&] { mount.find("a"); }) == EIO);
    BOOST_TEST(failed.count() > 0);
  }
  BOOST_TEST(mount.names() == Names{"a"}, boost::test_tools::per_element());
  BOOST_CHECK(mount.read("a") == bytes_of("contents"));
}

BOOST_AUTO_TEST_CASE(names_of_which_two_would_be_one_stay_apart) {
  const TempDir source;
  write_file(source / "a", bytes_of("plain"));
  write_file(source / "a.b2frame", flat_frame("frame"));
  InProcess mount(source.path());
  BOOST_TEST(mount.names() == (Names{"a", "a.b2frame"}), boost::test_tools::per_element());
  BOOST_CHECK(mount.read("a") == bytes_of("plain"));
  BOOST_CHECK(mount.read("a.b2frame") == bytes_of("frame"));
  mount.remove("a");
  BOOST_TEST(mount.names() == Names{"a"}, boost::test_tools::per_element());
  BOOST_CHECK(mount.read("a") == bytes_of("frame"));
}

BOOST_AUTO_TEST_CASE(plain_file_with_the_bytes_of_a_frame_becomes_one_at_its_last_close) {
  const TempDir source;
  write_file(source / "a", bytes_of("text"));
  InProcess mount(source.path());
  const ByteVector frame = flat_frame("contents");
  {
    const InProcess::File file = mount.open("a", O_RDWR | O_TRUNC);
    file.write(0, frame);
    BOOST_CHECK(mount.read("a") == frame);
  }
  // What was written stays what is read.
  BOOST_CHECK(mount.read("a") == frame);
  mount.end();
  InProcess again(source.path());
  BOOST_CHECK(again.read("a") == frame);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
