// Removed names, and removed files that programs still have open.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <string>
#include <system_error>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

/// The files of a directory that this process has open.
struct OpenFiles {
  int present = 0;
  int removed = 0;  ///< files without a name
};

OpenFiles open_files_of(const fs_std::path& directory) {
  OpenFiles found;
  for (const auto& descriptor : fs_std::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    const std::string file = fs_std::read_symlink(descriptor, closed);
    if (!file.starts_with(directory.string() + "/file")) continue;
    ++(file.ends_with(" (deleted)") ? found.removed : found.present);
  }
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(removing)

BOOST_AUTO_TEST_CASE(removed_files_that_are_forgotten_are_closed) {
  const TempDir source;
  for (int i = 0; i < 8; i++)
    write_file(source / ("file" + std::to_string(i) + ".b2frame"),
               flat_frame(bytes_of("contents")));
  InProcess mount(source.path());
  // The mount watches files that it has listed, and keeps them open for later lookups.
  for (const std::string& name : mount.names()) BOOST_TEST(mount.has(name));
  BOOST_TEST(open_files_of(source.path()).present == 8);
  for (int i = 0; i < 8; i++) mount.remove("file" + std::to_string(i));
  BOOST_TEST(open_files_of(source.path()).present == 0);
  BOOST_TEST(open_files_of(source.path()).removed == 0);
}

// Another program removes the name that the mount saw last, and the mount has not looked it up
// since.
BOOST_AUTO_TEST_CASE(file_is_committed_by_its_other_name_when_a_directory_is_gone) {
  const TempDir source;
  const ByteVector contents = make_contents("noise", 1, 300000, 1);
  const ByteVector more = make_contents("text", 2, 5000, 1);
  fs_std::create_directory(source / "d");
  write_file(source / "a.b2frame", flat_frame(contents));
  fs_std::create_hard_link(source / "a.b2frame", source / "d" / "b.b2frame");
  InProcess mount(source.path());
  const Reference first = mount.find("a");
  const InProcess::File file = mount.open("d/b");
  BOOST_TEST(file.node() == *first);
  fs_std::remove(source / "d" / "b.b2frame");
  mount.remove_directory("d");
  file.write(1000, more);
  file.sync();
  BOOST_CHECK(shown_contents(source / "a.b2frame") == with_bytes(contents, 1000, more));
}

BOOST_AUTO_TEST_CASE(name_is_removed_when_the_directory_of_another_one_is_gone) {
  const TempDir source;
  fs_std::create_directory(source / "d");
  write_file(source / "a.b2frame", flat_frame("contents"));
  fs_std::create_hard_link(source / "a.b2frame", source / "d" / "b.b2frame");
  InProcess mount(source.path());
  const InProcess::File file = mount.open("d/b");
  BOOST_TEST(*mount.find("a") == file.node());
  fs_std::remove(source / "d" / "b.b2frame");
  mount.remove_directory("d");
  mount.remove("a");
  BOOST_TEST(mount.names().empty());
}

BOOST_AUTO_TEST_CASE(open_files_are_read_and_written_without_a_name) {
  const TempDir source;
  const ByteVector contents = make_contents("noise", 1, 300000, 1);
  write_file(source / "flat.b2frame", flat_frame(contents));
  write_sparse_frame(source / "sparse.b2frame", contents);
  write_file(source / "plain", contents);
  InProcess mount(source.path());
  mount.write("new", contents);
  const ByteVector more = make_contents("text", 2, 5000, 1);
  for (const char* name : {"flat", "sparse", "plain", "new"}) BOOST_TEST_CONTEXT(name) {
      const InProcess::File file = mount.open(name);
      mount.remove(name);
      BOOST_TEST(!mount.has(name));
      BOOST_CHECK(file.contents() == contents);
      file.write(299000, more);
      BOOST_CHECK(file.contents() == with_bytes(contents, 299000, more));
      BOOST_TEST(file.stat().st_size == 304000);
      file.truncate(10);
      BOOST_TEST(file.contents().size() == 10u);
      file.sync();
    }
  BOOST_TEST(mount.names().empty());
  BOOST_CHECK(comes_true([&] { return stored_names(source.path()).empty(); }));
  mount.end();
  BOOST_TEST(fs_std::is_empty(source.path()));
}

BOOST_AUTO_TEST_CASE(names_are_free_again_at_once) {
  const TempDir source;
  write_sparse_frame(source / "a.b2frame", make_contents("noise", 1, 300000, 1));
  InProcess mount(source.path());
  const InProcess::File old = mount.open("a", O_RDONLY);
  mount.remove("a");
  mount.write("a", bytes_of("new"));
  mount->commit_written();
  BOOST_CHECK(mount.read("a") == bytes_of("new"));
  BOOST_TEST(old.contents().size() == 300000u);
}

BOOST_AUTO_TEST_CASE(sparse_frames_that_nobody_reads_are_gone_at_once) {
  const TempDir source;
  write_sparse_frame(source / "a.b2frame", make_contents("noise", 1, 300000, 1));
  InProcess mount(source.path());
  mount.remove("a");
  BOOST_TEST(stored_names(source.path()).empty());
}

BOOST_AUTO_TEST_CASE(directory_goes_while_a_removed_frame_of_it_is_read) {
  const TempDir source;
  const ByteVector contents = make_contents("noise", 1, 300000, 1);
  fs_std::create_directory(source / "d");
  write_sparse_frame(source / "d/s.b2frame", contents);
  InProcess mount(source.path());
  const InProcess::File file = mount.open("d/s", O_RDONLY);
  BOOST_TEST(error_of([&] { mount.remove_directory("d"); }) == ENOTEMPTY);
  mount.remove("d/s");
  mount.remove_directory("d");
  BOOST_TEST(!fs_std::exists(source / "d"));
  BOOST_CHECK(file.contents() == contents);
}

BOOST_AUTO_TEST_CASE(kinds_are_told_apart) {
  const TempDir source;
  write_sparse_frame(source / "s.b2frame", bytes_of("sparse"));
  InProcess mount(source.path());
  mount.make_directory("d");
  BOOST_TEST(error_of([&] { mount.remove("d"); }) == EISDIR);
  BOOST_TEST(error_of([&] { mount.remove_directory("s"); }) == ENOTDIR);
  BOOST_TEST(error_of([&] { mount.remove("x"); }) == ENOENT);
  BOOST_TEST(error_of([&] { mount.remove_directory("x"); }) == ENOENT);
}

BOOST_AUTO_TEST_CASE(file_that_was_never_committed_leaves_nothing) {
  const TempDir source;
  InProcess mount(source.path());
  mount.write("a", make_contents("noise", 1, 100000, 1));
  mount.remove("a");
  BOOST_CHECK(comes_true([&] { return stored_names(source.path()).empty(); }));
  mount->commit_written();
  BOOST_TEST(mount->stats().commits == 0u);
  BOOST_TEST(mount->stats().dirty_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(removed_directory_is_synced_as_nothing) {
  const TempDir source;
  InProcess mount(source.path());
  mount.make_directory("d");
  const Reference directory = mount.find("d");
  fs::Request request(mount.caller);
  mount.source().sync_directory(request, *directory);
  mount.remove_directory("d");
  BOOST_TEST(error_of([&] { mount.source().sync_directory(request, *directory); }) == 0);
  BOOST_TEST(error_of([&] { mount.source().create_file(request, *directory, "a", 0644); }) ==
             ESTALE);
}

BOOST_AUTO_TEST_CASE(synced_directory_has_its_new_files) {
  const TempDir source;
  InProcess mount(source.path());
  mount.make_directory("d");
  mount.write("d/a", bytes_of("one"));
  mount.write("b", bytes_of("two"));
  fs::Request request;
  mount.source().sync_directory(request, *mount.find("d"));
  BOOST_TEST(stored_names(source / "d") == Names{"a.b2frame"}, boost::test_tools::per_element());
  BOOST_TEST(stored_names(source.path()) == (Names{".tmp", "d"}), boost::test_tools::per_element());
}

// Other operations wait for the lock on names, and a flush of the whole filesystem may take long.
// If such a flush fails, it is retried after as many more unsynced names.
BOOST_AUTO_TEST_CASE(many_unsynced_names_are_flushed_while_others_find_names) {
  const TempDir source;
  InProcess mount(source.path());
  std::atomic<int> flushes{0};
  std::atomic<int> found{0};
  std::vector<std::future<void>> lookers;
  const WatchedCalls watched([&](Call call, const std::string&) {
    if (call != Call::flush_all) return 0;
    flushes++;
    lookers.push_back(std::async(std::launch::async, [&] {
      fs::Request request;
      fs::NamesWork work(request);
      const fs::TreeChanges names(work, mount.local().tree(), fs::ChangedBy::daemon);
    }));
    found += lookers.back().wait_for(std::chrono::seconds(10)) == std::future_status::ready;
    return EIO;
  });
  for (int i = 0; i < 8300; i++) {
    const std::string name = "d" + std::to_string(i);
    mount.make_directory(name);
    mount.remove_directory(name);
  }
  BOOST_TEST(flushes == 2);
  BOOST_TEST(found == flushes);
}

BOOST_AUTO_TEST_CASE(directory_goes_while_the_last_reader_leaves_what_was_removed_in_it) {
  bool is_reached = true;
  for (int at = 1; is_reached; at++) {
    const TempDir source;
    fs_std::create_directory(source / "d");
    write_sparse_frame(source / "d/s.b2frame", bytes_of("contents"));
    InProcess mount(source.path());
    std::optional<InProcess::File> reader(mount.open("d/s", O_RDONLY));
    mount.remove("d/s");
    int calls = 0;
    {
      const WatchedCalls watched([&](Call, const std::string& name) {
        if (name.ends_with(".tmp") && ++calls == at) reader.reset();
        return 0;
      });
      BOOST_TEST(error_of([&] { mount.remove_directory("d"); }) == 0, "at call " << at);
    }
    is_reached = calls >= at;
    BOOST_TEST((is_reached || at > 3));
    reader.reset();
    BOOST_TEST(stored_names(source.path()) == Names(), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
