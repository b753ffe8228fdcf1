// Objects that replace others under their names: each kind over each kind, by renames, by
// exchanges, and by commits that store a file as another kind.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <stdio.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

/// Makes a NPY file, which can be stored as an array.
ByteVector npy_file(std::uint64_t seed) {
  const std::string header = npy_header("<i4", {250});
  return with_bytes(bytes_of(header), header.size(), make_contents("noise", seed, 1000, 4));
}

/// Objects that are shown as NAME.npy.
enum class Kind {
  none,
  plain,
  cframe,
  sframe,
  array,           ///< NAME.b2nd
  array_npy,       ///< NAME.npy.b2nd
  pending,         ///< text that will be NAME.npy.b2frame after its commit
  pending_array,   ///< a NPY file that will be NAME.b2nd after its commit
  pending_before,  ///< text that will replace a NAME.npy.b2frame that SOURCE has
  directory,
};

constexpr const char* kSidecar = ".b2lock";

constexpr Kind kPlaced[] = {Kind::plain,     Kind::cframe,  Kind::sframe,        Kind::array,
                            Kind::array_npy, Kind::pending, Kind::pending_array, Kind::directory};
constexpr Kind kReplaced[] = {
    Kind::none,      Kind::plain,   Kind::cframe,        Kind::sframe,         Kind::array,
    Kind::array_npy, Kind::pending, Kind::pending_array, Kind::pending_before, Kind::directory};

/// The kinds that can be written to and have a full name in SOURCE.
constexpr Kind kFrames[] = {Kind::cframe, Kind::sframe, Kind::array, Kind::array_npy};

const char* text_of(Kind kind) {
  static const std::map<Kind, const char*> texts{
      {Kind::none, "nothing"},          {Kind::plain, "a plain file"},
      {Kind::cframe, "a frame"},        {Kind::sframe, "a sparse frame"},
      {Kind::array, "an array"},        {Kind::array_npy, "an array with another suffix"},
      {Kind::pending, "a new file"},    {Kind::pending_array, "a new array"},
      {Kind::directory, "a directory"}, {Kind::pending_before, "a new file in front of another"}};
  return texts.at(kind);
}

bool is_array(Kind kind) { return kind == Kind::array || kind == Kind::array_npy; }

bool is_pending(Kind kind) {
  return kind == Kind::pending || kind == Kind::pending_array || kind == Kind::pending_before;
}

bool is_container(Kind kind) {
  return kind != Kind::none && kind != Kind::plain && kind != Kind::directory;
}

/// Returns the full name that an object of this kind has, or will have after its commit.
std::string full_name(Kind kind, const std::string& name) {
  if (!is_container(kind)) return name + ".npy";
  if (kind == Kind::array) return name + ".b2nd";
  return name + (kind == Kind::array_npy ? ".npy.b2nd" : ".npy.b2frame");
}

/// Returns the kind that an object has after its commit.
Kind committed(Kind kind) {
  if (kind == Kind::pending_array) return Kind::array;
  return is_pending(kind) ? Kind::cframe : kind;
}

/// Returns the full name of an object that is renamed over another one. It takes the other's full
/// name if it is shown under the same name there.
std::string new_full_name(Kind kind, Kind replaced, const std::string& name) {
  const bool fits =
      is_container(kind) && is_container(replaced) && (replaced != Kind::array || is_array(kind));
  if (fits) return full_name(replaced, name);
  return full_name(is_array(kind) ? Kind::array : kind, name);
}

bool has_sidecar(Kind kind) { return kind == Kind::cframe || is_array(kind); }

/// A mount that shows these objects and a neighbour. Frames that are one file have a sidecar.
struct Objects {
  explicit Objects(std::vector<std::pair<Kind, std::string>> made) {
    write_file(source / "n.npy.b2frame", flat_frame("neighbour"));
    for (const auto& [kind, name] : made) store(kind, name);
    mount.emplace(source.path());
    for (const auto& [kind, name] : made) write(kind, name);
  }

  /// Makes what SOURCE has before the mount.
  void store(Kind kind, const std::string& name) {
    const fs_std::path path = source / full_name(kind, name);
    const ByteVector bytes = contents(kind, name);
    if (kind == Kind::plain) write_file(path, bytes);
    if (kind == Kind::directory) fs_std::create_directory(path);
    if (kind == Kind::sframe) write_sparse_frame(path, bytes);
    if (kind == Kind::pending_before) write_file(path, flat_frame("behind"));
    if (kind == Kind::cframe) write_file(path, flat_frame(bytes));
    if (is_array(kind)) write_file(path, array_frame(elements(name), {250}, "<i4", 4));
    if (has_sidecar(kind)) write_file(path.string() + kSidecar, ByteVector());
  }

  /// Makes what the mount adds: the pending files.
  void write(Kind kind, const std::string& name) {
    if (!is_pending(kind)) return;
    mount->write("new", contents(kind, name));
    mount->rename("new", name + ".npy");
  }

  static ByteVector elements(const std::string& name) {
    return make_contents("noise", static_cast<std::uint64_t>(name[0]), 1000, 4);
  }

  static ByteVector contents(Kind kind, const std::string& name) {
    return is_array(kind) || kind == Kind::pending_array
               ? npy_file(static_cast<std::uint64_t>(name[0]))
               : bytes_of(text_of(kind) + name);
  }

  const TempDir source;
  std::optional<InProcess> mount;
};

int error_of_rename(Kind placed, Kind replaced) {
  if (replaced == Kind::none) return 0;
  if (replaced == Kind::directory) return placed == Kind::directory ? 0 : EISDIR;
  return placed == Kind::directory ? ENOTDIR : 0;
}

/// Returns the expected names in SOURCE: the neighbour, these names, and the sidecars of those that
/// have one.
Names with_neighbour(const std::vector<std::pair<std::string, bool>>& stored) {
  Names names{"n.npy.b2frame"};
  for (const auto& [name, has_lock] : stored) {
    names.push_back(name);
    if (has_lock) names.push_back(name + kSidecar);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Returns the expected names in SOURCE after `placed` has replaced `replaced`. A pending file that
/// waits to replace a frame keeps the frame's sidecar.
Names stored_after_move(Kind placed, Kind replaced) {
  const Kind kept = committed(placed);
  std::string name = new_full_name(kept, replaced, "b");
  if (placed == Kind::pending_array) name = "b.b2nd";
  const bool waits =
      is_pending(placed) && (replaced == Kind::cframe || replaced == Kind::array_npy);
  return with_neighbour({{name, has_sidecar(placed) || waits}});
}

Names stored_after_exchange(Kind a, Kind b) {
  return with_neighbour({{new_full_name(committed(a), committed(b), "b"), has_sidecar(a)},
                         {new_full_name(committed(b), committed(a), "a"), has_sidecar(b)}});
}

/// Replaces the stored file by another frame, as another program does.
void replace_stored(const fs_std::path& source, const ByteVector& contents) {
  for (const std::string& name : stored_names(source)) {
    if (!name.starts_with("b.") || name.ends_with(kSidecar)) continue;
    write_file(source / "theirs", flat_frame(contents));
    fs_std::remove_all(source / name);
    fs_std::rename(source / "theirs", source / name);
  }
}

/// Returns the shown name of the conflict file of b.npy.
std::string conflict_in(InProcess& mount) {
  std::string found;
  for (const std::string& name : mount.names())
    if (name.starts_with("b.npy.conflict-")) found += name;
  return found;
}

void check_contents(InProcess& mount, Kind kind, const std::string& made_as,
                    const std::string& name) {
  if (kind == Kind::directory)
    BOOST_TEST(mount.names(name + ".npy").empty());
  else if (kind != Kind::none)
    BOOST_CHECK(mount.read(name + ".npy") == Objects::contents(kind, made_as));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(replacement)

BOOST_AUTO_TEST_CASE(each_kind_takes_the_place_of_each) {
  for (const Kind placed : kPlaced)
    for (const Kind replaced : kReplaced)
      BOOST_TEST_CONTEXT(text_of(placed) << " over " << text_of(replaced)) {
        Objects all({{placed, "a"}, {replaced, "b"}});
        InProcess& mount = *all.mount;
        const Reference moved = mount.find("a.npy");
        const int expected = error_of_rename(placed, replaced);
        BOOST_TEST(error_of([&] { mount.rename("a.npy", "b.npy"); }) == expected);
        if (expected != 0) {
          BOOST_TEST(mount.names() == (Names{"a.npy", "b.npy", "n.npy"}),
                     boost::test_tools::per_element());
          check_contents(mount, placed, "a", "a");
          check_contents(mount, replaced, "b", "b");
          continue;
        }
        BOOST_TEST(mount.names() == (Names{"b.npy", "n.npy"}), boost::test_tools::per_element());
        BOOST_TEST(*mount.find("b.npy") == *moved);
        check_contents(mount, placed, "a", "b");
        mount->commit_written();
        BOOST_TEST(stored_names(all.source.path()) == stored_after_move(placed, replaced),
                   boost::test_tools::per_element());
        BOOST_TEST(mount.log() == "");
        mount.end();
        InProcess again(all.source.path());
        BOOST_TEST(again.names() == (Names{"b.npy", "n.npy"}), boost::test_tools::per_element());
        check_contents(again, placed, "a", "b");
      }
}

BOOST_AUTO_TEST_CASE(each_kind_changes_places_with_each) {
  for (const Kind a : kPlaced)
    for (const Kind b : kReplaced) BOOST_TEST_CONTEXT(text_of(a) << " and " << text_of(b)) {
        Objects all({{a, "a"}, {b, "b"}});
        InProcess& mount = *all.mount;
        const int expected = b == Kind::none ? ENOENT : 0;
        BOOST_TEST(error_of([&] { mount.rename("a.npy", "b.npy", RENAME_EXCHANGE); }) == expected);
        if (expected != 0) continue;
        BOOST_TEST(mount.names() == (Names{"a.npy", "b.npy", "n.npy"}),
                   boost::test_tools::per_element());
        check_contents(mount, a, "a", "b");
        check_contents(mount, b, "b", "a");
        mount->commit_written();
        BOOST_TEST(stored_names(all.source.path()) == stored_after_exchange(a, b),
                   boost::test_tools::per_element());
        BOOST_TEST(mount.log() == "");
        mount.end();
        InProcess again(all.source.path());
        check_contents(again, a, "a", "b");
        check_contents(again, b, "b", "a");
      }
}

BOOST_AUTO_TEST_CASE(commit_stores_each_kind_as_what_is_written) {
  for (const Kind old : kFrames)
    for (const bool writes_array : {false, true})
      BOOST_TEST_CONTEXT(text_of(old) << (writes_array ? " becomes an array" : " becomes flat")) {
        Objects all({{old, "b"}});
        InProcess& mount = *all.mount;
        const Reference node = mount.find("b.npy");
        const ByteVector written = writes_array ? npy_file(7) : bytes_of("text");
        mount.write("b.npy", written);
        mount->commit_written();
        const std::string name = writes_array == is_array(old) ? full_name(old, "b")
                                 : writes_array                ? "b.b2nd"
                                                               : "b.npy.b2frame";
        BOOST_TEST(stored_names(all.source.path()) == with_neighbour({{name, has_sidecar(old)}}),
                   boost::test_tools::per_element());
        BOOST_TEST(*mount.find("b.npy") == *node);
        BOOST_CHECK(mount.read("b.npy") == written);
        BOOST_TEST(mount.log() == "");
        mount.end();
        InProcess again(all.source.path());
        BOOST_TEST(again.names() == (Names{"b.npy", "n.npy"}), boost::test_tools::per_element());
        BOOST_CHECK(again.read("b.npy") == written);
      }
}

// Another program has removed the file that the pending one was to replace. The mount must not look
// for it after the rename.
BOOST_AUTO_TEST_CASE(what_stood_behind_a_new_file_may_be_gone) {
  for (const Kind placed : {Kind::cframe, Kind::sframe, Kind::pending})
    BOOST_TEST_CONTEXT(text_of(placed)) {
      Objects all({{placed, "a"}, {Kind::pending_before, "b"}});
      InProcess& mount = *all.mount;
      fs_std::remove(all.source / "b.npy.b2frame");
      mount.rename("a.npy", "b.npy");
      check_contents(mount, placed, "a", "b");
      mount->commit_written();
      check_contents(mount, placed, "a", "b");
      BOOST_TEST(mount.names() == (Names{"b.npy", "n.npy"}), boost::test_tools::per_element());
      BOOST_TEST(stored_names(all.source.path()) ==
                     with_neighbour({{"b.npy.b2frame", has_sidecar(placed)}}),
                 boost::test_tools::per_element());
    }
}

// The commit must not replace another program's state, whichever of its steps comes after the
// change.
BOOST_AUTO_TEST_CASE(what_another_program_puts_there_meanwhile_stays) {
  const ByteVector theirs = bytes_of("another program's");
  for (const Kind old : kFrames)
    for (const int step : {1, 2}) BOOST_TEST_CONTEXT(text_of(old) << ", before step " << step) {
        Objects all({{old, "b"}});
        InProcess& mount = *all.mount;
        const ByteVector ours = is_array(old) ? bytes_of("text") : npy_file(7);
        mount.write("b.npy", ours);
        std::atomic<int> steps{0};
        {
          const WatchedCalls watched([&](Call call, const std::string& name) {
            if (call == Call::rename && !name.ends_with(kSidecar) && ++steps == step)
              replace_stored(all.source.path(), theirs);
            return 0;
          });
          mount->commit_written();
        }
        BOOST_TEST(steps >= step);
        BOOST_CHECK(mount.read("b.npy") == theirs);
        BOOST_CHECK(mount.read(conflict_in(mount)) == ours);
        mount.end();
        InProcess again(all.source.path());
        BOOST_CHECK(again.read("b.npy") == theirs);
        BOOST_TEST(again.names().size() == 3u);
      }
}

/// Counts the flushes of directories during `work`, and those for which another thread had to wait
/// before it could change names.
std::pair<int, int> flushes_and_waits(InProcess& mount, const std::function<void()>& work) {
  std::atomic<int> flushes{0}, waits{0};
  std::vector<std::future<void>> others;
  {
    const WatchedCalls watched([&](Call call, const std::string&) {
      if (call != Call::flush_directory) return 0;
      flushes++;
      others.push_back(std::async(std::launch::async, [&] {
        fs::Request request;
        fs::NamesWork other(request);
        const fs::TreeChanges names(other, mount.local().tree(), fs::ChangedBy::daemon);
      }));
      waits += others.back().wait_for(std::chrono::seconds(10)) != std::future_status::ready;
      return 0;
    });
    work();
  }
  return {flushes, waits};
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_the_flushes_of_a_rename) {
  int all_flushes = 0;
  for (const Kind placed : kFrames)
    for (const Kind replaced : kFrames)
      for (const bool exchanges : {false, true})
        BOOST_TEST_CONTEXT(text_of(placed) << " to " << text_of(replaced) << exchanges) {
          Objects all({{placed, "a"}, {replaced, "b"}});
          const auto [flushes, waits] = flushes_and_waits(*all.mount, [&] {
            all.mount->rename("a.npy", "b.npy", exchanges ? RENAME_EXCHANGE : 0);
          });
          BOOST_TEST(waits == 0);
          all_flushes += flushes;
        }
  BOOST_TEST(all_flushes > 0);
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_the_flushes_of_a_commit) {
  for (const Kind old : kFrames) BOOST_TEST_CONTEXT(text_of(old)) {
      Objects all({{old, "b"}});
      all.mount->write("b.npy", is_array(old) ? bytes_of("text") : npy_file(7));
      const auto [flushes, waits] =
          flushes_and_waits(*all.mount, [&] { (*all.mount)->commit_written(); });
      BOOST_TEST(waits == 0);
      BOOST_TEST(flushes > 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
