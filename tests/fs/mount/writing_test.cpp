// Changes of contents, sizes, modes, owners and times.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <tuple>

#include <boost/test/unit_test.hpp>
#include <linux/falloc.h>
#include <unistd.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/set_clock.hpp"

namespace bloscfs::test {

BOOST_AUTO_TEST_SUITE(writing_in_process)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_before_and_after_commits) {
  const TempDir source;
  Random random(7);
  ByteVector model = make_contents("text", 1, 200000, 1);
  write_file(source / "a.b2frame", flat_frame(model));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a");
  for (int i = 0; i < 60; i++) {
    const auto at = static_cast<std::size_t>(between(random, 0, std::ssize(model)));
    const auto size = static_cast<std::size_t>(between(random, 1, 30000));
    const int what = between(random, 0, 9);
    if (what == 0) {
      file.truncate(static_cast<std::int64_t>(at));
      model.resize(at);
    } else if (what == 1) {
      file.sync();
    } else if (what == 2) {
      file.allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<std::int64_t>(at),
                    static_cast<std::int64_t>(size));
      model = with_bytes(model, at, ByteVector(std::min(size, model.size() - at)));
    } else {
      const ByteVector bytes = make_contents("noise", static_cast<std::uint64_t>(i), size, 1);
      file.write(static_cast<std::int64_t>(at), bytes);
      model = with_bytes(model, at, bytes);
    }
    BOOST_REQUIRE(file.contents() == model);
  }
  file.sync();
  BOOST_CHECK(shown_contents(source / "a.b2frame") == model);
}

BOOST_AUTO_TEST_CASE(writes_without_an_offset_go_to_the_end) {
  const TempDir source;
  InProcess mount(source.path());
  const InProcess::File one = mount.create("a"), other = mount.open("a");
  one.write(std::nullopt, bytes_of("one"));
  other.write(std::nullopt, bytes_of("two"));
  one.write(std::nullopt, bytes_of("three"));
  BOOST_CHECK(other.contents() == bytes_of("onetwothree"));
}

/// The codecs and filters of these frames depend on the array's shape. Those of f33-3-3 lose more
/// each time that they are used.
BOOST_AUTO_TEST_CASE(arrays_keep_what_is_written_to_them_and_what_is_beside_it) {
  const TempDir source;
  fs_std::path data;
  for (const fs_std::path& root : data_roots())
    if (root.filename() == "plugins") data = root;
  for (const std::string name : {"l4a", "c32-a", "f32-7-3", "f33-3-3", "z8-34-0-3"}) {
    BOOST_TEST_CONTEXT(name) {
      const fs_std::path stored = source / (name + ".b2nd");
      fs_std::copy(data / stored.filename(), stored);
      InProcess mount(source.path());
      const std::string shown = name + ".npy";
      ByteVector model;
      const int error = error_of([&] { model = mount.read(shown); });
      if (error == EOPNOTSUPP && name.starts_with("z")) continue;  // built without libzfp
      const InProcess::File file = mount.open(shown);
      for (const std::size_t at : {std::size_t{200}, model.size() / 2, model.size() - 150}) {
        const ByteVector bytes = make_contents("noise", at, 100, 1);
        file.write(static_cast<std::int64_t>(at), bytes);
        model = with_bytes(model, at, bytes);
        file.sync();
        BOOST_CHECK(file.contents() == model);
      }
      BOOST_CHECK(shown_contents(stored) == model);
    }
  }
}

BOOST_AUTO_TEST_CASE(codecs_of_arrays_are_for_arrays_that_they_fit) {
  const TempDir source;
  InProcess mount(source.path(), "codec=ndlz:8,filters=ndcell:4+shuffle");
  const auto array = [](const std::string& dtype, const std::vector<std::int64_t>& shape) {
    ByteVector file = bytes_of(npy_header(dtype, shape));
    const ByteVector contents = make_contents("text", 3, 6000, 1);
    file.insert(file.end(), contents.begin(), contents.end());
    return file;
  };
  const std::vector<std::tuple<std::string, ByteVector, std::string, std::string>> files = {
      {"a.npy", array("|u1", {60, 100}), "ndlz", "ndcell:4,shuffle"},
      {"b.npy", array("<i2", {50, 60}), "ndlz", "ndcell:4,shuffle"},
      {"c.npy", array("<i2", {3000}), "zstd", "ndcell:4,shuffle"},
      {"d.npy", array("<i2", {3000, 1}), "ndlz", "ndcell:4,shuffle"},
      {"text", make_contents("text", 3, 6000, 1), "zstd", "shuffle"}};
  for (const auto& [name, bytes, codec, filters] : files) mount.write(name, bytes);
  mount->commit_written();
  for (const auto& [name, bytes, codec, filters] : files) BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(mount.attribute(name, "user.blosc2.codec") == codec);
      BOOST_TEST(mount.attribute(name, "user.blosc2.filters") == filters);
      const std::string stored = name == "text" ? name + ".b2frame" : name.substr(0, 1) + ".b2nd";
      BOOST_CHECK(shown_contents(source / stored) == bytes);
    }
}

BOOST_AUTO_TEST_CASE(sizes_are_set_with_and_without_a_handle) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("contents"));
  write_file(source / "plain", bytes_of("contents"));
  InProcess mount(source.path());
  for (const char* name : {"a", "plain"}) BOOST_TEST_CONTEXT(name) {
      mount.resize(name, 4);
      BOOST_CHECK(mount.read(name) == bytes_of("cont"));
      mount.open(name).truncate(6);
      BOOST_CHECK(mount.read(name) == with_bytes(ByteVector(6), 0, bytes_of("cont")));
      BOOST_TEST(mount.stat(name).st_size == 6);
      mount.open(name, O_RDWR | O_TRUNC);
      BOOST_TEST(mount.read(name).empty());
    }
  mount->commit_written();
  BOOST_CHECK(shown_contents(source / "a.b2frame").empty());
}

BOOST_AUTO_TEST_CASE(room_is_promised_only_where_there_is_some) {
  const TempDir source;
  InProcess mount(source.path());
  const InProcess::File file = mount.create("a");
  file.allocate(0, 0, 100000);
  BOOST_CHECK(file.contents() == ByteVector(100000));
  file.allocate(FALLOC_FL_KEEP_SIZE, 0, 200000);
  BOOST_TEST(file.stat().st_size == 100000);
  file.write(0, bytes_of("text"));
  file.allocate(FALLOC_FL_ZERO_RANGE, 1, 150000);
  BOOST_CHECK(file.contents() == with_bytes(ByteVector(150001), 0, bytes_of("t")));
  BOOST_TEST(error_of([&] { file.allocate(0, 0, std::int64_t{1} << 42); }) == ENOSPC);
  BOOST_TEST(error_of([&] { file.allocate(FALLOC_FL_COLLAPSE_RANGE, 0, 4096); }) == EOPNOTSUPP);
  BOOST_TEST(error_of([&] { file.allocate(0, std::int64_t{1} << 62, std::int64_t{1} << 62); }) ==
             EFBIG);
}

BOOST_AUTO_TEST_CASE(plain_files_are_written_in_place) {
  const TempDir source;
  write_file(source / "plain", bytes_of("contents"));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("plain");
  file.write(3, bytes_of("TENT"));
  BOOST_CHECK(read_file(source / "plain") == bytes_of("conTENTs"));
  file.allocate(0, 0, 20);
  BOOST_TEST(fs_std::file_size(source / "plain") == 20u);
  file.sync();
  BOOST_TEST(file.handle().has_writers());
  BOOST_TEST(mount->stats().commits == 0u);
}

BOOST_AUTO_TEST_CASE(readers_do_not_write) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("contents"));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a", O_RDONLY);
  BOOST_TEST(error_of([&] { file.write(0, bytes_of("x")); }) == EBADF);
  BOOST_TEST(error_of([&] { file.truncate(0); }) == EBADF);
  BOOST_TEST(!file.handle().has_writers());
}

// The mount shows Bloscpack files read-only.
BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_refused_when_it_is_opened) {
  const TempDir source;
  const ByteVector contents = make_contents("text", 1, 5000, 1);
  write_file(source / "a.blp", bloscpack_file(contents, 1000));
  InProcess mount(source.path());
  BOOST_TEST(error_of([&] { mount.open("a"); }) == EROFS);
  BOOST_TEST(error_of([&] { mount.resize("a", 0); }) == EROFS);
  BOOST_CHECK(mount.read("a") == contents);
}

BOOST_AUTO_TEST_CASE(times_and_modes_are_kept_by_commits) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("contents"));
  InProcess mount(source.path());
  for (const char* name : {"a", "new"}) BOOST_TEST_CONTEXT(name) {
      mount.write(name, bytes_of("changed"));
      fs::NewAttributes wanted;
      wanted.mode = 0604;
      wanted.modified = timespec{1'000'000'000, 500};
      wanted.accessed = timespec{1'100'000'000, 0};
      mount.set(name, wanted);
      mount->commit_written();
      const struct stat st = mount.stat(name);
      BOOST_TEST((st.st_mode & 07777) == 0604u);
      BOOST_TEST(st.st_mtim.tv_sec == 1'000'000'000);
      BOOST_TEST(st.st_mtim.tv_nsec == 500);
      const auto stored = fs_std::status(source / (std::string(name) + ".b2frame"));
      BOOST_CHECK(stored.permissions() == fs_std::perms(0604));
    }
}

BOOST_AUTO_TEST_CASE(sparse_frame_has_one_mode) {
  const TempDir source;
  write_sparse_frame(source / "s.b2frame", make_contents("noise", 1, 200000, 1));
  InProcess mount(source.path());
  fs::NewAttributes wanted;
  wanted.mode = 0640;
  mount.set("s", wanted);
  BOOST_TEST((mount.stat("s").st_mode & 07777) == 0640u);
  for (const auto& entry : fs_std::directory_iterator(source / "s.b2frame"))
    BOOST_TEST((entry.status().permissions() == fs_std::perms(0640)), entry.path().string());
}

// The commit may remove a chunk file just after the change of mode has found it.
BOOST_AUTO_TEST_CASE(mode_of_a_sparse_frame_is_set_while_it_is_committed) {
  constexpr int kChanges = 30;
  const TempDir source;
  const ByteVector contents = make_contents("noise", 1, 1 << 17, 1);
  write_sparse_frame(source / "s.b2frame", contents, {4096, 4096, 1, {}, {}});
  InProcess mount(source.path());
  std::atomic<bool> is_done = false;
  std::jthread writer([&] {
    const InProcess::File file = mount.open("s");
    while (!is_done) {
      file.write(0, contents);
      file.sync();
    }
  });
  for (int i = 0; i < kChanges; i++) {
    fs::NewAttributes wanted;
    wanted.mode = i % 2 == 0 ? 0600 : 0640;
    BOOST_TEST(error_of([&] { mount.set("s", wanted); }) == 0);
  }
  is_done = true;
}

BOOST_AUTO_TEST_CASE(set_user_bits_go_with_what_others_write,
                     *boost::unit_test::precondition(needs_root)) {
  const TempDir source;
  fs_std::permissions(source.path(), fs_std::perms(0777));
  write_file(source / "a.b2frame", flat_frame("contents"));
  fs_std::permissions(source / "a.b2frame", fs_std::perms(04777));
  InProcess mount(source.path());
  const Reference node = mount.find("a");
  fs::Request others({nobody(), nobody(), 0022});
  mount.source().drop_privileges(others, *node);
  BOOST_TEST((mount.stat("a").st_mode & 07777) == 0777u);
}

BOOST_AUTO_TEST_CASE(changes_are_made_as_who_asks, *boost::unit_test::precondition(needs_root)) {
  const TempDir source;
  fs_std::permissions(source.path(), fs_std::perms(0755));
  fs_std::create_directory(source / "open");
  fs_std::permissions(source / "open", fs_std::perms(0777));
  write_file(source / "a.b2frame", flat_frame("contents"));
  InProcess mount(source.path());
  mount.caller = {nobody(), nobody(), 0022, ::gettid()};
  BOOST_TEST(error_of([&] { mount.create("b"); }) == EACCES);
  BOOST_TEST(error_of([&] { mount.make_directory("b"); }) == EACCES);
  BOOST_TEST(error_of([&] { mount.remove("a"); }) == EACCES);
  BOOST_TEST(error_of([&] { mount.rename("a", "open/a"); }) == EACCES);
  fs::NewAttributes wanted;
  wanted.mode = 0777;
  BOOST_TEST(error_of([&] { mount.set("a", wanted); }) == EPERM);
  mount.write("open/b", bytes_of("theirs"));
  mount->commit_written();
  BOOST_TEST(mount.stat("open/b").st_uid == nobody());
  BOOST_TEST(mount.source().owner(*mount.find("open/b")) == nobody());
  BOOST_TEST(mount.source().owner(*mount.find("a")) == 0u);
}

BOOST_AUTO_TEST_CASE(commit_of_a_closed_file_begins_within_the_time_that_was_asked_for) {
  const TempDir source;
  SetClock clock;
  InProcess mount(source.path(), "commit=1", clock);
  mount.write("a", bytes_of("one"));
  clock.move(std::chrono::milliseconds(900));
  BOOST_TEST(comes_true([&] { return mount->stats().commits == 1U; }));
}

// A rename looks for the open file that it replaced after it has given back the lock on names. By
// then a commit that ended may have dropped the node. The rename has happened, and must not fail.
BOOST_AUTO_TEST_CASE(node_of_a_replaced_file_that_is_gone_is_not_open) {
  const TempDir source;
  InProcess mount(source.path());
  mount.write("a", bytes_of("old"));
  mount.write("b", bytes_of("new"));
  const fs::NodeId replaced = *mount.find("a");
  mount.rename("b", "a");
  mount->commit_written();
  BOOST_TEST(error_of([&] { mount.local().tree().entry(mount.request(), replaced); }) == ESTALE);
  BOOST_TEST((mount.local().tree().opened(replaced) == nullptr));
}

// Another handle may close the file, and so make it a frame, after the look at the file and before
// its opening.
BOOST_AUTO_TEST_CASE(plain_file_that_became_a_frame_is_opened_as_one) {
  const TempDir source;
  write_file(source / "p", bytes_of("plain"));
  InProcess mount(source.path());
  const Reference node = mount.find("p");
  const fs::SourceEntry before = mount.local().tree().entry(mount.request(), *node);
  ByteVector frame = flat_frame("contents");
  mount.open("p", O_WRONLY).write(0, frame);
  BOOST_TEST(error_of([&] { mount.local().tree().begin_plain_writing(*node); }) == ESTALE);
  BOOST_TEST(error_of([&] { mount.local().tree().take_change(*node, before); }) == ESTALE);
  BOOST_CHECK(mount.read("p") == frame);
  mount.open("p").write(0, bytes_of("C"));
  frame[0] = 'C';
  BOOST_CHECK(mount.read("p") == frame);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
