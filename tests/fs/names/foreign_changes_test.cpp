// Files that other programs change in SOURCE while they have dirty bytes.

#include <atomic>
#include <cerrno>
#include <regex>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/fs/view/reader_fixture.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

using namespace frame::test;

const std::regex& conflict_name() {
  static const std::regex name("a\\.conflict-[0-9]{8}T[0-9]{6}(-[0-9]+)?");
  return name;
}

/// A frame that is open and has dirty bytes.
struct Waiting {
  explicit Waiting(const std::string& options = {}) {
    write_file(stored(), flat_frame(old));
    mount.emplace(source.path(), options);
    file.emplace(mount->open("a"));
    file->write(70000, bytes);
  }
  fs_std::path stored() const { return source / "a.b2frame"; }
  /// Renames another file over the frame, as another program does.
  void replace(const ByteVector& contents) const {
    write_file(source / "theirs", flat_frame(contents));
    fs_std::rename(source / "theirs", stored());
  }
  /// Returns the shown name of the conflict file; an empty string if there is none.
  std::string conflict() {
    std::string found;
    for (const std::string& name : mount->names())
      if (std::regex_match(name, conflict_name())) found += name;
    return found;
  }

  const ByteVector old = make_contents("text", 1, 200000, 1);
  const ByteVector bytes = make_contents("noise", 2, 5000, 1);
  const ByteVector theirs = make_contents("floats", 3, 100000, 4);
  const TempDir source;
  std::optional<InProcess> mount;
  std::optional<InProcess::File> file;
};

/// Makes an array of one element. Its dtype takes `size` bytes, which an open file keeps in memory.
ByteVector with_large_header(std::size_t size) {
  FrameBuilder frame = repeated(make_memcpy_chunk({9}, 1), 1, 1);
  Buffer layer = array_layer({1}, {1}, {1});
  layer.resize(layer.size() - 7);
  put_big(layer, size, 4);
  layer.resize(layer.size() + size, 'x');
  frame.metalayers = {{"b2nd", layer}};
  return frame.build();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(foreign_changes_in_process)

BOOST_AUTO_TEST_CASE(what_was_written_is_kept_beside_and_told_once) {
  Waiting it;
  it.replace(it.theirs);
  BOOST_TEST(error_of([&] { it.file->sync(); }) == ESTALE);
  BOOST_TEST(error_of([&] { it.file->sync(); }) == 0);
  BOOST_CHECK(it.mount->read(it.conflict()) == with_bytes(it.old, 70000, it.bytes));
  BOOST_CHECK(it.mount->read("a") == it.theirs);
  BOOST_CHECK(it.file->contents() == it.theirs);
  it.file->write(10, it.bytes);
  it.file->sync();
  BOOST_CHECK(shown_contents(it.stored()) == with_bytes(it.theirs, 10, it.bytes));
  BOOST_TEST(it.mount->log().find("is kept as a.conflict-") != std::string::npos, it.mount->log());
}

BOOST_AUTO_TEST_CASE(closes_tell_until_somebody_syncs) {
  Waiting it;
  it.replace(it.theirs);
  BOOST_TEST(error_of([&] { it.file->flush(); }) == ESTALE);
  BOOST_TEST(error_of([&] { it.file->flush(); }) == ESTALE);
  BOOST_TEST(error_of([&] { it.file->sync(); }) == ESTALE);
  BOOST_TEST(error_of([&] { it.file->flush(); }) == 0);
}

BOOST_AUTO_TEST_CASE(closed_file_is_kept_by_whoever_looks) {
  Waiting it;
  it.file.reset();
  it.replace(it.theirs);
  BOOST_CHECK(it.mount->read("a") == it.theirs);
  BOOST_CHECK(it.mount->read(it.conflict()) == with_bytes(it.old, 70000, it.bytes));
  it.mount->end();
  BOOST_CHECK(shown_contents(it.stored()) == it.theirs);
}

BOOST_AUTO_TEST_CASE(removed_file_leaves_what_was_written) {
  Waiting it;
  fs_std::remove(it.stored());
  BOOST_TEST(error_of([&] { it.file->sync(); }) == ESTALE);
  BOOST_TEST(!it.mount->has("a"));
  BOOST_CHECK(it.mount->read(it.conflict()) == with_bytes(it.old, 70000, it.bytes));
  it.mount->write("a", it.theirs);
  BOOST_CHECK(it.mount->read("a") == it.theirs);
}

BOOST_AUTO_TEST_CASE(file_that_was_moved_refuses_what_is_written) {
  Waiting it;
  fs_std::rename(it.stored(), it.source / "moved.b2frame");
  BOOST_TEST(error_of([&] { it.file->sync(); }) == ESTALE);
  BOOST_TEST(error_of([&] { it.file->sync(); }) == 0);
  BOOST_TEST(error_of([&] { it.file->write(0, it.bytes); }) == ESTALE);
  BOOST_CHECK(it.mount->read(it.conflict()) == with_bytes(it.old, 70000, it.bytes));
  BOOST_CHECK(shown_contents(it.source / "moved.b2frame") == it.old);
}

BOOST_AUTO_TEST_CASE(change_in_the_midst_of_a_commit_is_seen) {
  Waiting it;
  std::atomic<bool> is_done{false};
  {
    // Another program replaces the file after the commit's first look at it, before the commit
    // writes.
    const WatchedCalls watched([&](Call call, const std::string& path) {
      if (call != Call::write || !path.ends_with("/a.b2frame") || is_done.exchange(true)) return 0;
      it.replace(it.theirs);
      return 0;
    });
    BOOST_TEST(error_of([&] { it.file->sync(); }) == ESTALE);
  }
  BOOST_TEST(is_done);
  BOOST_CHECK(it.mount->read("a") == it.theirs);
  BOOST_CHECK(shown_contents(it.stored()) == it.theirs);
  BOOST_TEST(it.mount->read(it.conflict()).size() == it.old.size());
}

BOOST_AUTO_TEST_CASE(name_that_a_new_file_waits_for_is_taken_by_others) {
  const TempDir source;
  InProcess mount(source.path());
  {
    const InProcess::File file = mount.create("a");
    file.write(0, bytes_of("ours"));
    write_file(source / "a.b2frame", flat_frame("theirs"));
  }
  mount->commit_written();
  Names contents;
  for (const std::string& name : mount.names()) {
    const ByteVector bytes = mount.read(name);
    contents.emplace_back(bytes.begin(), bytes.end());
  }
  std::sort(contents.begin(), contents.end());
  BOOST_TEST(contents == (Names{"ours", "theirs"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(readers_keep_the_state_that_they_have_opened) {
  Waiting it;
  it.file->sync();
  const InProcess::File reader = it.mount->open("a", O_RDONLY);
  const ByteVector before = reader.read(0, 1000);
  it.replace(it.theirs);
  BOOST_CHECK(reader.read(0, 1000) == before);
  BOOST_CHECK(it.mount->read("a") == it.theirs);
}

/// A frame with dirty bytes, whose user holds as much memory by open files as one user may.
struct Crowded : Waiting {
  Crowded() : Waiting("cache_size=8M") {
    for (int i = 0; i < 300; i++) {
      write_file(source / ("large" + std::to_string(i) + ".b2nd"), with_large_header(100'000));
      write_file(source / ("small" + std::to_string(i) + ".b2frame"), flat_frame(ByteVector(1)));
    }
    for (const char* kind : {"large", "small"})
      BOOST_TEST_REQUIRE(error_of([&] { open_all(kind); }) == ENOMEM);
  }
  void open_all(const char* kind) {
    for (const std::string& name : mount->names())
      if (name.starts_with(kind)) others.push_back(mount->open(name, O_RDONLY));
  }

  std::vector<InProcess::File> others;
};

// The file stays overtaken and keeps its dirty bytes until there is room for the new state.
BOOST_AUTO_TEST_CASE(state_that_no_room_is_for_is_gone_on_from_later) {
  Crowded it;
  it.replace(it.theirs);
  BOOST_TEST(error_of([&] { it.file->sync(); }) == ENOMEM);
  BOOST_TEST(error_of([&] { it.file->sync(); }) == ENOMEM);
  it.others.clear();
  BOOST_TEST(error_of([&] { it.file->sync(); }) == ESTALE);
  BOOST_TEST(error_of([&] { it.file->sync(); }) == 0);
  BOOST_CHECK(it.mount->read(it.conflict()) == with_bytes(it.old, 70000, it.bytes));
  BOOST_CHECK(it.file->contents() == it.theirs);
}

BOOST_AUTO_TEST_CASE(own_state_that_no_room_is_for_is_committed_again) {
  Crowded it;
  const ByteVector written = with_bytes(it.old, 70000, it.bytes);
  BOOST_TEST(error_of([&] { it.file->sync(); }) == ENOMEM);
  BOOST_CHECK(it.file->contents() == written);
  it.others.clear();
  BOOST_TEST(error_of([&] { it.file->sync(); }) == 0);
  BOOST_CHECK(it.file->contents() == written);
  BOOST_CHECK(shown_contents(it.stored()) == written);
  BOOST_TEST(it.conflict() == "");
}

// The file is renamed after the mount has found the file that took its name, before the mount
// changes names.
BOOST_AUTO_TEST_CASE(new_file_that_is_renamed_meanwhile_keeps_its_new_name) {
  const TempDir source;
  InProcess mount(source.path());
  const InProcess::File file = mount.create("a");
  fs::Tree& tree = mount.local().tree();
  const auto name = tree.name_of(file.node());
  BOOST_REQUIRE(name.has_value());
  mount.rename("a", "b");
  write_file(source / "a.b2frame", flat_frame("theirs"));
  fs::Request request;
  const auto successor = tree.successor(request, *name);
  BOOST_REQUIRE(successor.has_value());
  {
    fs::NamesWork work(request);
    fs::TreeChanges names(work, tree, fs::ChangedBy::daemon);
    fs::TreeChanges::Followed followed;
    BOOST_TEST(!names.follow(file.node(), *name, successor, followed));
  }
  BOOST_TEST((mount.names() == Names{"a", "b"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
