// What the mount takes a file of SOURCE for, and how long it keeps the verdict.

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
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
  // Sets old times. A file that has just changed may change again within the clock's tick, so its
  // verdict would not be kept.
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

// A disk may fail for a moment. The mount must not show the raw bytes of frames from then on.
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
  // After the last close, reads still return the written bytes.
  BOOST_CHECK(mount.read("a") == frame);
  mount.end();
  InProcess again(source.path());
  BOOST_CHECK(again.read("a") == frame);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// SOURCE with a frame, and with two frames that have an unknown codec. One of those has a sidecar.
struct UnsupportedSource {
  UnsupportedSource() {
    write_file(source / "good.b2frame", flat_frame(std::string(1000, 'x')));
    const ByteVector contents(4000, 7);
    frame = with_unknown_codec(flat_frame(std::string(1000, 'y')));
    write_file(source / "odd.b2frame", frame);
    write_file(source / "odd.b2frame.b2lock", ByteVector());
    fs_std::create_directory(source / "d");
    write_file(source / "d/t.b2nd", with_unknown_codec(array_frame(contents, {500}, "<f8", 8)));
  }

  TempDir source;
  ByteVector frame;
};

/// Gives a frame an unknown format version.
ByteVector with_later_version(ByteVector frame) {
  constexpr std::size_t kVersion = 0x19;
  frame.at(kVersion) |= 0x0f;
  return frame;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(unsupported_files)

BOOST_AUTO_TEST_CASE(are_shown_and_refused_where_nothing_is_asked_for) {
  const UnsupportedSource unsupported;
  for (const char* options : {"", "unsupported=error"}) {
    InProcess mount(unsupported.source.path(), options);
    BOOST_TEST(mount.names() == (Names{"d", "good", "odd"}), boost::test_tools::per_element());
    BOOST_TEST(mount.names("d") == Names{"t.npy"}, boost::test_tools::per_element());
    BOOST_TEST(mount.stat("odd").st_size == 1000);
    for (const char* name : {"odd", "d/t.npy"})
      BOOST_CHECK_EXCEPTION(mount.read(name), codec::Error, [](const auto& error) {
        return error.code() == codec::FormatErrc::unsupported;
      });
    BOOST_TEST(mount.read("good").size() == 1000u);
  }
}

BOOST_AUTO_TEST_CASE(are_left_out_where_they_shall_be_hidden) {
  const UnsupportedSource unsupported;
  write_file(unsupported.source / "later.b2frame", with_later_version(flat_frame("contents")));
  InProcess mount(unsupported.source.path(), "unsupported=hide");
  for (int look = 0; look < 2; look++) {
    BOOST_TEST(mount.names() == (Names{"d", "good"}), boost::test_tools::per_element());
    BOOST_TEST(mount.names("d").empty());
    for (const char* name :
         {"odd", "odd.b2frame", "odd.b2frame.b2lock", "d/t.npy", "later.b2frame"})
      BOOST_TEST(!mount.has(name), name);
  }
  BOOST_TEST(mount.log().find("odd.b2frame: left out: codec codec254 is not supported") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(keep_their_places_while_they_are_hidden) {
  const UnsupportedSource unsupported;
  InProcess mount(unsupported.source.path(), "unsupported=hide");
  BOOST_TEST(error_of([&] { mount.remove_directory("d"); }) == ENOTEMPTY);
  BOOST_TEST(error_of([&] { mount.make_directory("odd.b2frame"); }) == EEXIST);
  BOOST_TEST(error_of([&] { mount.create("odd"); }) == EEXIST);
  BOOST_TEST(error_of([&] { mount.rename("good", "odd"); }) != 0);
  BOOST_TEST(mount.read("good").size() == 1000u);
  mount.end();
  BOOST_CHECK(read_file(unsupported.source / "odd.b2frame") == unsupported.frame);
  BOOST_TEST(fs_std::exists(unsupported.source / "odd.b2frame.b2lock"));
}

BOOST_AUTO_TEST_CASE(come_into_sight_when_another_program_makes_them_readable) {
  const UnsupportedSource unsupported;
  InProcess mount(unsupported.source.path(), "unsupported=hide");
  BOOST_TEST(!mount.has("odd"));
  write_file(unsupported.source / "odd.b2frame", flat_frame("readable"));
  BOOST_CHECK(mount.read("odd") == bytes_of("readable"));
  write_file(unsupported.source / "odd.b2frame", unsupported.frame);
  BOOST_TEST(!mount.has("odd"));
  BOOST_TEST(mount.names() == (Names{"d", "good"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(are_shown_as_they_are_stored_where_they_shall_be_raw) {
  const UnsupportedSource unsupported;
  InProcess mount(unsupported.source.path(), "unsupported=raw");
  BOOST_TEST(mount.names() == (Names{"d", "good", "odd.b2frame", "odd.b2frame.b2lock"}),
             boost::test_tools::per_element());
  BOOST_TEST(mount.names("d") == Names{"t.b2nd"}, boost::test_tools::per_element());
  BOOST_CHECK(mount.read("odd.b2frame") == unsupported.frame);
  // A program opens it for writing and closes it. The file stays unchanged, and does not become a
  // frame within a frame.
  { const InProcess::File file = mount.open("odd.b2frame"); }
  mount.end();
  BOOST_CHECK(read_file(unsupported.source / "odd.b2frame") == unsupported.frame);
}

BOOST_AUTO_TEST_CASE(unknown_filters_count_unless_the_frame_is_empty) {
  constexpr std::size_t kFilters = 0x47;
  constexpr std::uint8_t kUnknownFilter = 250;
  const TempDir source;
  ByteVector frame = flat_frame(std::string(1000, 'x'));
  frame.at(kFilters) = kUnknownFilter;
  write_file(source / "filter.b2frame", frame);
  ByteVector empty = flat_frame(ByteVector());
  empty.at(kFilters) = kUnknownFilter;
  write_file(source / "empty.b2frame", empty);
  InProcess mount(source.path(), "unsupported=hide");
  BOOST_TEST(mount.names() == Names{"empty"}, boost::test_tools::per_element());
  BOOST_TEST(mount.read("empty").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
