// Several hosts that write to one object store: mounts without a kernel, and a store in memory.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>

#include <boost/test/unit_test.hpp>
#include <fmt/core.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/random_files.hpp"
#include "tests/remote/fake_store.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/set_clock.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;

std::string text_of(const ByteVector& bytes) { return {bytes.begin(), bytes.end()}; }

/// Makes contents that take three chunks.
ByteVector large(std::uint64_t seed) { return make_contents("noise", seed, 9'000'000, 1); }

/// One host. Its cached knowledge of the store stays valid until a test moves the clock.
struct Host {
  explicit Host(FakeStore& store) : mount(store.tree(true), {}, clock) {}

  int syncing(const InProcess::File& file) {
    return error_of([&] { file.sync(); });
  }
  void write(std::string_view path, const ByteVector& bytes) {
    mount.write(path, bytes);
    mount->commit_written();
  }
  void forget_what_it_knows() { clock.move(std::chrono::minutes(1)); }

  SetClock clock;
  InProcess mount;
};

/// Returns the errno of an fsync on one host, after another host has changed the open file "one".
int error_of_syncing_after(FakeStore& store, const std::function<void(InProcess&)>& change) {
  Host left(store);
  left.write("one", bytes_of("text"));
  Host right(store);
  const auto file = left.mount.open("one");
  file.write(0, bytes_of("TEXT"));
  change(right.mount);
  return left.syncing(file);
}

/// Checks that a new host finds one more file next to "one", a conflict file. Returns its name.
std::string conflict_name(Host& third) {
  Names conflicts = third.mount.names();
  std::erase(conflicts, "one");
  BOOST_TEST_REQUIRE(conflicts.size() == 1U);
  BOOST_TEST(conflicts.front().find(".conflict-") != std::string::npos);
  return conflicts.front();
}

/// Like conflict_name(), but returns the contents.
std::string only_one_beside(FakeStore& store) {
  Host third(store);
  return text_of(third.mount.read(conflict_name(third)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hosts_in_process)

BOOST_AUTO_TEST_CASE(the_mode_of_a_new_file_stays_through_its_first_commit) {
  FakeStore store;
  Host host(store);
  const fs::FoundNode made =
      host.mount.source().create_file(host.mount.request(), fs::kRootId, "run", S_IFREG | 0755);
  const auto opened = host.mount->open(host.mount.request(), made.id, O_RDWR);
  BOOST_TEST(made.attributes.st_mode == mode_t{S_IFREG | 0755});
  const ByteVector text = bytes_of("text");
  host.mount->handle(opened.handle)->write(host.mount.request(), {0, false}, text);
  host.mount->handle(opened.handle)->sync(host.mount.request());
  BOOST_TEST(host.mount.stat("run").st_mode == mode_t{S_IFREG | 0755});
  host.mount->release(host.mount.request(), opened.handle);
  host.mount.source().forget(made.id, 1);
  BOOST_TEST(host.mount.stat("run").st_mode == mode_t{S_IFREG | 0755});
}

BOOST_AUTO_TEST_CASE(what_one_host_commits_another_one_reads) {
  FakeStore store;
  const ByteVector contents = large(1);
  Host left(store), right(store);
  left.write("one", contents);
  left.mount.make_directory("d");
  left.write("d/two", bytes_of("text"));
  right.forget_what_it_knows();
  BOOST_TEST((right.mount.read("one") == contents));
  BOOST_TEST(text_of(right.mount.read("d/two")) == "text");
  BOOST_TEST((right.mount.names() == Names{"d", "one"}));
}

BOOST_AUTO_TEST_CASE(an_array_that_is_none_any_more_keeps_its_name) {
  FakeStore store;
  Host left(store);
  const ByteVector array = bytes_of(npy_header("<i4", {2}) + "12345678");
  const ByteVector text = with_bytes(array, 0, bytes_of("no array"));
  {
    const auto file = left.mount.create("one.npy");
    file.write(0, array);
    file.sync();
    file.write(0, text);
  }
  left.mount->commit_written();
  Host right(store);
  BOOST_TEST((right.mount.names() == Names{"one.npy"}));
  BOOST_TEST((right.mount.read("one.npy") == text));
}

// A program still has the removed file open. It must not make the mount forget that the file which
// now has the name is a new one, too.
BOOST_AUTO_TEST_CASE(new_file_in_place_of_a_removed_one_is_kept_beside) {
  FakeStore store;
  Host left(store);
  left.write("one", bytes_of("first"));
  Host right(store);
  const auto first = left.mount.open("one");
  right.mount.remove("one");
  fs::NewAttributes mode;
  mode.mode = 0600;
  BOOST_TEST(error_of([&] { left.mount.set("one", mode); }) == ESTALE);
  {
    const auto second = left.mount.create("one");
    second.write(0, bytes_of("second"));
    BOOST_TEST(error_of([&] { first.write(0, bytes_of("FIRST")); }) == ESTALE);
    right.write("one", bytes_of("third"));
    BOOST_TEST(left.syncing(second) == ESTALE);
  }
  left.mount->commit_written();
  BOOST_TEST(only_one_beside(store) == "second");
  Host third(store);
  BOOST_TEST(text_of(third.mount.read("one")) == "third");
}

BOOST_AUTO_TEST_CASE(of_two_commits_one_wins_and_the_other_is_kept_beside) {
  FakeStore store;
  const ByteVector before = large(1);
  Host left(store);
  left.write("one", before);
  Host right(store);
  {
    const auto one = left.mount.open("one"), other = right.mount.open("one");
    one.write(4'500'000, bytes_of("left"));
    other.write(100, bytes_of("right"));
    BOOST_TEST(left.syncing(one) == 0);
    BOOST_TEST(right.syncing(other) == ESTALE);
  }
  const ByteVector of_left = with_bytes(before, 4'500'000, bytes_of("left"));
  BOOST_TEST((only_one_beside(store) == text_of(with_bytes(before, 100, bytes_of("right")))));
  right.forget_what_it_knows();
  BOOST_TEST((right.mount.read("one") == of_left));
  BOOST_TEST((Host(store).mount.read("one") == of_left));
}

BOOST_AUTO_TEST_CASE(conflict_file_has_its_metalayers) {
  FakeStore store;
  Host left(store);
  left.write("one", bytes_of("text"));
  left.mount.set_attribute("one", "user.blosc2.meta.fixed", "old");
  left.mount.set_attribute("one", "user.blosc2.vlmeta.note", "old");
  left.mount->commit_written();
  Host right(store);
  const auto file = right.mount.open("one");
  file.write(0, bytes_of("TEXT"));
  right.mount.set_attribute("one", "user.blosc2.vlmeta.more", "new");
  left.write("one", bytes_of("other"));
  BOOST_TEST(right.syncing(file) == ESTALE);
  Host third(store);
  const std::string conflict = conflict_name(third);
  BOOST_TEST(third.mount.attribute(conflict, "user.blosc2.meta.fixed") == "old");
  BOOST_TEST(third.mount.attribute(conflict, "user.blosc2.vlmeta.note") == "old");
  BOOST_TEST(third.mount.attribute(conflict, "user.blosc2.vlmeta.more") == "new");
}

BOOST_AUTO_TEST_CASE(of_two_new_files_of_one_name_one_wins) {
  FakeStore store;
  Host left(store), right(store);
  {
    const auto one = left.mount.create("one"), other = right.mount.create("one");
    one.write(0, bytes_of("left"));
    other.write(0, bytes_of("right"));
    BOOST_TEST(left.syncing(one) == 0);
    BOOST_TEST(right.syncing(other) == ESTALE);
  }
  BOOST_TEST(only_one_beside(store) == "right");
  BOOST_TEST(text_of(Host(store).mount.read("one")) == "left");
}

BOOST_AUTO_TEST_CASE(readers_see_one_state_or_the_next) {
  FakeStore store;
  const ByteVector before = large(2), after = large(3);
  Host writer(store), reader(store);
  writer.write("one", before);
  reader.forget_what_it_knows();
  const auto open_before = reader.mount.open("one", O_RDONLY);
  BOOST_TEST(open_before.read(0, 1000).size() == 1000U);
  writer.write("one", after);
  reader.forget_what_it_knows();
  BOOST_TEST((reader.mount.read("one") == after));
  BOOST_TEST((open_before.contents() == before));
}

BOOST_AUTO_TEST_CASE(modes_that_were_set_survive_a_commit_of_an_older_state) {
  FakeStore store;
  fs::NewAttributes wanted;
  wanted.mode = 0600;
  BOOST_TEST(error_of_syncing_after(store, [&](InProcess& other) { other.set("one", wanted); }) ==
             ESTALE);
  BOOST_TEST((Host(store).mount.stat("one").st_mode & 07777) == 0600U);
}

BOOST_AUTO_TEST_CASE(a_put_whose_answer_is_lost_is_no_conflict) {
  FakeStore store;
  Host host(store);
  host.write("one", bytes_of("before"));
  StoreFaults faults;
  faults.lost_answers = 1;
  store.set_faults(faults);
  host.write("one", bytes_of("after"));
  Host other(store);
  BOOST_TEST((other.mount.names() == Names{"one"}));
  BOOST_TEST(text_of(other.mount.read("one")) == "after");
}

BOOST_AUTO_TEST_CASE(a_file_that_another_host_has_removed_is_kept_beside) {
  FakeStore store;
  BOOST_TEST(error_of_syncing_after(store, [](InProcess& other) { other.remove("one"); }) ==
             ESTALE);
  BOOST_TEST(only_one_beside(store) == "TEXT");
}

BOOST_AUTO_TEST_CASE(a_file_that_a_rename_replaces_stays_what_it_is_for_who_has_it_open) {
  FakeStore store;
  Host host(store);
  host.write("one", bytes_of("one"));
  host.write("two", bytes_of("two"));
  {
    const auto file = host.mount.open("two");
    file.write(3, bytes_of(" and more"));
    host.mount.rename("one", "two");
    BOOST_TEST(text_of(file.contents()) == "two and more");
    file.write(0, bytes_of("TWO"));
    BOOST_TEST(text_of(file.contents()) == "TWO and more");
    BOOST_TEST(host.syncing(file) == 0);
  }
  host.mount->commit_written();
  Host other(store);
  BOOST_TEST((other.mount.names() == Names{"two"}));
  BOOST_TEST(text_of(other.mount.read("two")) == "one");
}

BOOST_AUTO_TEST_CASE(a_name_that_was_given_away_is_taken_back) {
  FakeStore store;
  Host host(store);
  const ByteVector contents = large(4), other = large(5);
  host.write("one", contents);
  // Each rename removes the chunks of the old name, so no index may refer to them again.
  host.mount.rename("one", "two");
  host.mount.rename("two", "one");
  BOOST_TEST((host.mount.read("one") == contents));
  host.mount.rename("one", "two");
  host.write("one", other);
  BOOST_TEST((Host(store).mount.read("two") == contents));
  host.mount.remove("two");
  BOOST_TEST((Host(store).mount.names() == Names{"one"}));
  BOOST_TEST((Host(store).mount.read("one") == other));
}

/// Looks up the first few objects of a directory in the given order. Returns how many objects the
/// mount has then asked for.
std::size_t asked_for(
    const std::function<bool(const fs::DirectoryEntry&, const fs::DirectoryEntry&)>& less) {
  constexpr int kObjects = 60, kLookedUp = 8;
  FakeStore store;
  for (int i = 0; i < kObjects; i++) store.add(fmt::format("{:02}.txt", i), bytes_of("text"));
  const SetClock clock;
  InProcess mount(store.tree(false), {}, clock);
  auto entries = mount.source().list(mount.request(), fs::kRootId, [] { return true; }).value();
  std::sort(entries.begin(), entries.end(), less);
  const auto begun = store.requests();
  for (int i = 0; i < kLookedUp; i++)
    BOOST_TEST(mount.has(entries[static_cast<std::size_t>(i)].shown_name));
  const auto asked = [&] { return static_cast<std::size_t>(store.requests() - begun); };
  comes_true([&] { return asked() > kLookedUp; }, std::chrono::seconds(1));
  return asked();
}

BOOST_AUTO_TEST_CASE(who_goes_through_a_listing_is_looked_ahead_of) {
  using Entry = fs::DirectoryEntry;
  BOOST_TEST(asked_for([](const Entry& a, const Entry& b) { return a.shown_name < b.shown_name; }) >
             8U);
  BOOST_TEST(asked_for([](const Entry& a, const Entry& b) { return a.inode < b.inode; }) > 8U);
  // In the order of the last digit, which is neither the order of names nor of inodes.
  BOOST_TEST(asked_for([](const Entry& a, const Entry& b) {
               return a.shown_name.substr(1) + a.shown_name < b.shown_name.substr(1) + b.shown_name;
             }) == 8U);
}

BOOST_AUTO_TEST_CASE(what_a_listing_tells_counts_for_as_long_as_its_names) {
  FakeStore store;
  store.add("d/one.txt", bytes_of("text"));
  SetClock clock;
  // A listing that took 2 s is valid for 20 s.
  store.when_listing = [&] { clock.move(std::chrono::seconds(2)); };
  InProcess mount(store.tree(false), {}, clock);
  BOOST_TEST(mount.has("d/one.txt"));
  clock.move(std::chrono::seconds(2));
  BOOST_TEST(mount.has("d/one.txt"));
  const auto begun = store.requests();
  clock.move(std::chrono::seconds(3));
  BOOST_TEST(mount.has("d/one.txt"));
  BOOST_TEST(store.requests() == begun);
  clock.move(std::chrono::seconds(30));
  BOOST_TEST(mount.has("d/one.txt"));
  BOOST_TEST(store.requests() > begun);
}

BOOST_AUTO_TEST_CASE(attributes_are_set_as_those_of_files) {
  FakeStore store;
  Host host(store);
  host.write("one", bytes_of("text"));
  const auto setting = [&](const std::string& name, const std::string& value) {
    return error_of([&] { host.mount.set_attribute("one", name, value); });
  };
  BOOST_TEST(setting("user.blosc2.codec", host.mount.attribute("one", "user.blosc2.codec")) == 0);
  BOOST_TEST(setting("user.blosc2.codec", "another") == EPERM);
  BOOST_TEST(setting("user.blosc2.nonsense", "x") == EINVAL);
  BOOST_TEST(setting("user.note", "x") == EOPNOTSUPP);
  BOOST_TEST(setting("user.blosc2.vlmeta.note", "x") == 0);
  BOOST_TEST(host.mount.attribute("one", "user.blosc2.vlmeta.note") == "x");
}

BOOST_AUTO_TEST_CASE(files_are_what_was_written_to_them) {
  constexpr int kSteps = 60;
  for (std::uint64_t seed = 1; seed <= 3; seed++) BOOST_TEST_CONTEXT("seed " << seed) {
      FakeStore store;
      RandomFiles files(seed, RandomFiles::Renames::of_closed_files);
      Host(store).mount.make_directory("d");
      // Each host must find what the previous host has committed.
      for (int round = 0; round < 2; round++) {
        Host host(store);
        files.compare(host.mount);
        for (int i = 0; i < kSteps; i++) files.step(host.mount);
        files.compare(host.mount);
        files.close_all();
        host.mount.end();
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
