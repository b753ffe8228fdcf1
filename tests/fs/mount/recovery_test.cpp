// Changes that a mount cannot commit before it ends: it keeps them, and `b2frame recover` gives
// them a name later.

#include "fs/source/local/recovery.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <regex>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "fs/mount/ended_mounts.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/set_clock.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

ByteVector lost_contents() { return make_contents("noise", 5, 30000, 1); }

/// Recovers all kept files. Returns pairs of the lost and the recovered path.
std::vector<std::pair<std::string, std::string>> recover(const TempDir& source) {
  fs::MountSource opened = fs::open_source(source.path(), false, true);
  fs::MountLock lock(opened.root.get(), std::nullopt, std::chrono::seconds(0));
  BOOST_REQUIRE(lock.journal() != nullptr);
  std::vector<std::pair<std::string, std::string>> done;
  fs::recover_kept(
      std::move(opened), lock.journal(),
      [&](const fs::KeptFile& kept, const std::string& path) {
        done.emplace_back(kept.path, path);
      },
      [](const std::string& reason) { BOOST_TEST(false, reason); });
  return done;
}

/// A SOURCE in which a mount could not write to the frame `d/a`.
struct Lost {
  Lost() {
    fs_std::create_directory(source / "d");
    write_file(source / "d/a.b2frame", flat_frame(make_contents("text", 1, 20000, 1)));
    InProcess mount(source.path());
    mount.write("d/a", lost_contents());
    const FailedCalls failed(Call::write, EIO, "/a.b2frame");
    BOOST_CHECK_THROW(mount.end(), std::runtime_error);
  }
  std::vector<std::pair<std::string, std::string>> recover() const { return test::recover(source); }
  const TempDir source;
};

constexpr const char* kAccessList = "system.posix_acl_access";

/// An access list with which user 12345 may read a file, and its group may not.
std::string access_list() {
  const std::vector<std::array<std::uint8_t, 8>> entries = {
      {0x01, 0, 6, 0, 0xff, 0xff, 0xff, 0xff},  // owner: rw
      {0x02, 0, 4, 0, 0x39, 0x30, 0, 0},        // user 12345: r
      {0x04, 0, 0, 0, 0xff, 0xff, 0xff, 0xff},  // group
      {0x10, 0, 4, 0, 0xff, 0xff, 0xff, 0xff},  // mask: r
      {0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff},  // others
  };
  std::string list("\2\0\0\0", 4);
  for (const auto& entry : entries) list.append(entry.begin(), entry.end());
  return list;
}

/// Makes the frame "a" with metalayers and attributes. Returns false if SOURCE cannot have an
/// access list.
bool make_described(const TempDir& source) {
  InProcess mount(source.path());
  mount.write("a", make_contents("text", 1, 20000, 1));
  for (const std::string kind : {"meta.", "vlmeta."})
    for (const std::string name : {"old", "changed", "removed"})
      mount.set_attribute("a", "user.blosc2." + kind + name, kind + name);
  mount.end();
  BOOST_REQUIRE(errno_of_set_xattr(source / "a.b2frame", "user.note", "text") == 0);
  fs_std::permissions(source / "a.b2frame", fs_std::perms(0640));
  return errno_of_set_xattr(source / "a.b2frame", kAccessList, access_list()) == 0;
}

/// Changes the metalayers and contents of the frame that make_described() has made.
void change_described(InProcess& mount, const InProcess::File& file) {
  file.write(100, bytes_of("new"));
  for (const std::string kind : {"meta.", "vlmeta."}) {
    mount.set_attribute("a", "user.blosc2." + kind + "changed", "other");
    mount.set_attribute("a", "user.blosc2." + kind + "new", "new");
    mount.remove_attribute("a", "user.blosc2." + kind + "removed");
  }
}

/// Checks the metalayers and the user attribute of a saved copy after change_described().
void check_described(const TempDir& source, const std::string& path) {
  InProcess mount(source.path());
  const std::string shown = path.substr(0, path.rfind('.'));
  const Names names = mount.attributes(shown);
  for (const std::string kind : {"meta.", "vlmeta."}) BOOST_TEST_CONTEXT(kind) {
      const std::string prefix = "user.blosc2." + kind;
      BOOST_TEST(std::count(names.begin(), names.end(), prefix + "removed") == 0);
      BOOST_TEST(mount.attribute(shown, prefix + "old") == kind + "old");
      BOOST_TEST(mount.attribute(shown, prefix + "changed") == "other");
      BOOST_TEST(mount.attribute(shown, prefix + "new") == "new");
    }
  BOOST_TEST(get_xattr(source / path, "user.note").value_or("") == "text");
  BOOST_CHECK(mount.read(shown) ==
              with_bytes(make_contents("text", 1, 20000, 1), 100, bytes_of("new")));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recovery_in_process)

BOOST_AUTO_TEST_CASE(recovered_file_has_its_metalayers_and_attributes) {
  for (const bool is_removed : {false, true}) BOOST_TEST_CONTEXT("removed " << is_removed) {
      const TempDir source;
      const bool has_list = make_described(source);
      {
        InProcess mount(source.path());
        change_described(mount, mount.open("a"));
        fs::NewAttributes times;
        times.modified = timespec{1'000'000'000, 5};
        mount.set("a", times);
        const FailedCalls failed(Call::write, EIO, "/a.b2frame");
        BOOST_CHECK_THROW(mount.end(), std::runtime_error);
      }
      if (is_removed) fs_std::remove(source / "a.b2frame");
      const auto done = recover(source);
      BOOST_REQUIRE(done.size() == 1u);
      check_described(source, done[0].second);
      const fs_std::path recovered = source / done[0].second;
      BOOST_TEST(
          (has_list ? get_xattr(recovered, kAccessList).value_or("") == access_list() : true));
      struct stat st {};
      BOOST_REQUIRE(::stat(recovered.c_str(), &st) == 0);
      BOOST_TEST((st.st_mode & 07777) == 0640U);
      BOOST_TEST(st.st_mtim.tv_sec == 1'000'000'000);
      BOOST_TEST(st.st_mtim.tv_nsec == 5);
    }
}

// Another program has replaced the file. The groups and lists of both files may differ, so only the
// owner may read the conflict file.
BOOST_AUTO_TEST_CASE(conflict_file_has_its_metalayers_and_attributes) {
  const TempDir source;
  const bool has_list = make_described(source);
  {
    InProcess mount(source.path());
    const auto file = mount.open("a");
    change_described(mount, file);
    write_file(source / "other", flat_frame(make_contents("text", 2, 10000, 1)));
    fs_std::permissions(source / "other", fs_std::perms(0644));
    fs_std::rename(source / "other", source / "a.b2frame");
    BOOST_TEST(error_of([&] { file.sync(); }) == ESTALE);
    mount.end();
  }
  Names names = stored_names(source.path());
  std::erase(names, "a.b2frame");
  BOOST_REQUIRE(names.size() == 1u);
  BOOST_TEST(names[0].starts_with("a.conflict-"));
  check_described(source, names[0]);
  BOOST_TEST(!get_xattr(source / names[0], kAccessList));
  const auto mode = fs_std::status(source / names[0]).permissions();
  BOOST_TEST(static_cast<unsigned>(mode) == (has_list ? 0600U : 0640U));
}

// Fixed metalayers of more than 4 MiB are not copied.
BOOST_AUTO_TEST_CASE(contents_are_kept_if_the_metalayers_cannot_be) {
  const TempDir source;
  FramePlan plan;
  plan.chunksize = plan.blocksize = 1024;
  plan.nbytes = 1024;
  plan.metalayers = {{"large", ByteVector(5 << 20, 1)}};
  const ByteVector chunk = encode_chunk(ByteVector(1024, 7), 1, 1024);
  write_file(source / "a.b2frame", encode_frame(plan, chunk, {0}));
  {
    InProcess mount(source.path());
    mount.open("a").write(100, bytes_of("new"));
    {
      const FailedCalls failed(Call::write, EIO, "/a.b2frame");
      BOOST_CHECK_THROW(mount.end(), std::runtime_error);
    }
    BOOST_TEST(mount.log().find("a.b2frame: kept without its metalayers") != std::string::npos,
               mount.log());
  }
  const auto done = recover(source);
  BOOST_REQUIRE(done.size() == 1u);
  BOOST_CHECK(shown_contents(source / done[0].second) ==
              with_bytes(ByteVector(1024, 7), 100, bytes_of("new")));
}

BOOST_AUTO_TEST_CASE(it_gets_a_name_beside_what_has_its_own) {
  const Lost lost;
  {
    InProcess mount(lost.source.path());
    BOOST_TEST(mount.names("d") == Names{"a"}, boost::test_tools::per_element());
    BOOST_TEST(mount.stat("d/a").st_size == 20000);
    mount.end();
  }
  const auto done = lost.recover();
  BOOST_REQUIRE(done.size() == 1u);
  BOOST_TEST(done[0].first == "d/a");
  const std::regex path("d/a\\.conflict-[0-9]{8}T[0-9]{6}\\.b2frame");
  BOOST_TEST(std::regex_match(done[0].second, path), done[0].second);
  BOOST_CHECK(shown_contents(lost.source / done[0].second) == lost_contents());
  BOOST_TEST(lost.recover().empty());
}

BOOST_AUTO_TEST_CASE(it_gets_its_own_name_where_that_is_free) {
  const Lost lost;
  fs_std::remove(lost.source / "d/a.b2frame");
  const auto done = lost.recover();
  BOOST_REQUIRE(done.size() == 1u);
  BOOST_TEST(done[0].second == "d/a.b2frame");
  BOOST_CHECK(shown_contents(lost.source / "d/a.b2frame") == lost_contents());
}

BOOST_AUTO_TEST_CASE(it_goes_into_source_where_its_directory_is_gone) {
  const Lost lost;
  fs_std::remove_all(lost.source / "d");
  const auto done = lost.recover();
  BOOST_REQUIRE(done.size() == 1u);
  BOOST_CHECK(shown_contents(lost.source / "a.b2frame") == lost_contents());
}

// SOURCE has no room for the whole file, but would have some for one with zeros in it.
BOOST_AUTO_TEST_CASE(whole_file_is_rescued_rather_than_a_part_kept) {
  const TempDir source, rescue;
  const ByteVector old = make_contents("noise", 1, 3'000'000, 1);
  write_file(source / "a.b2frame", flat_frame(old));
  {
    InProcess mount(source.path(), "rescue=" + rescue.path().string());
    mount.open("a").write(100, ByteVector(10, 1));
    const WatchedCalls watched([&](Call call, const std::string& path) {
      if (call != Call::write || !path.starts_with(source.path().string())) return 0;
      return path.ends_with("/a.b2frame") || fs_std::file_size(path) > 100'000 ? ENOSPC : 0;
    });
    BOOST_CHECK_THROW(mount.end(), std::runtime_error);
  }
  fs::MountSource opened = fs::open_source(source.path(), false, true);
  opened.rescue.emplace(fs::open_rescue_folder(rescue.path(), fs::IfMissing::fail), rescue.path(),
                        source.path());
  std::string recovered;
  fs::recover_kept(
      std::move(opened), nullptr,
      [&](const fs::KeptFile& kept, const std::string& path) {
        BOOST_TEST((kept.loss == fs::Loss::none));
        recovered = path;
      },
      [](const std::string& reason) { BOOST_TEST(false, reason); });
  BOOST_REQUIRE(recovered != "");
  BOOST_CHECK(shown_contents(source / recovered) == with_bytes(old, 100, ByteVector(10, 1)));
}

BOOST_AUTO_TEST_CASE(rescued_file_without_room_does_not_hold_back_the_others) {
  const TempDir source, rescue;
  {
    InProcess mount(source.path(), "rescue=" + rescue.path().string());
    for (const char* const name : {"a", "b", "c"})
      mount.write(name, make_contents("noise", 1, *name == 'b' ? 3'000'000 : 3000, 1));
    const WatchedCalls watched([&](Call call, const std::string& path) {
      return call == Call::write && path.starts_with(source.path().string()) ? ENOSPC : 0;
    });
    BOOST_CHECK_THROW(mount.end(), std::runtime_error);
  }
  fs::MountSource opened = fs::open_source(source.path(), false, true);
  opened.rescue.emplace(fs::open_rescue_folder(rescue.path(), fs::IfMissing::fail), rescue.path(),
                        source.path());
  Names recovered;
  std::string reason;
  {
    const WatchedCalls watched([&](Call call, const std::string& path) {
      return call == Call::write && fs_std::file_size(path) > 100'000 ? ENOSPC : 0;
    });
    fs::recover_kept(
        std::move(opened), nullptr,
        [&](const fs::KeptFile&, const std::string& path) { recovered.push_back(path); },
        [&](const std::string& why) { reason += why + "\n"; });
  }
  BOOST_TEST((recovered == Names{"a.b2frame", "c.b2frame"}));
  BOOST_TEST(reason.starts_with("cannot recover b: "), reason);
  BOOST_TEST(std::count(reason.begin(), reason.end(), '\n') == 1);
}

BOOST_AUTO_TEST_CASE(file_that_could_not_be_changed_keeps_its_time) {
  constexpr timespec kOld{1'000'000'000, 7};
  const TempDir source;
  const fs_std::path stored = source / "a.b2frame";
  write_file(stored, flat_frame(make_contents("text", 1, 20000, 1)));
  const timespec times[2] = {kOld, kOld};
  BOOST_REQUIRE(::utimensat(AT_FDCWD, stored.c_str(), times, 0) == 0);
  {
    InProcess mount(source.path());
    mount.open("a").write(0, lost_contents());
    // The first flush comes when the new chunks are written.
    const FailedCalls failed(Call::flush_file, EIO, "/a.b2frame");
    BOOST_CHECK_THROW(mount.end(), std::runtime_error);
  }
  struct stat st {};
  BOOST_REQUIRE(::stat(stored.c_str(), &st) == 0);
  BOOST_TEST(st.st_mtim.tv_sec == kOld.tv_sec);
  BOOST_TEST(st.st_mtim.tv_nsec == kOld.tv_nsec);
}

// A change of a part of a damaged chunk cannot be committed.
BOOST_AUTO_TEST_CASE(damage_of_the_old_file_is_reported) {
  constexpr std::int64_t kChunk = 65536;
  for (const bool decodes : {true, false}) {
    const TempDir source, rescue;
    const ByteVector old = make_contents("noise", 1, 200'000, 1);
    {
      InProcess mount(source.path(), "checksum,chunk_size=64K");
      mount.write("a", old);
      mount.end();
    }
    ByteVector stored = read_file(source / "a.b2frame");
    // Noise is stored as it is.
    const auto found =
        std::search(stored.begin(), stored.end(), old.begin() + kChunk, old.begin() + kChunk + 64);
    BOOST_REQUIRE(found != stored.end());
    if (decodes)
      *found ^= 1;
    else
      std::fill(found - 32, found, std::uint8_t{0xff});
    write_file(source / "a.b2frame", stored);
    {
      InProcess mount(source.path());
      mount.open("a").write(kChunk + 100, ByteVector(10, 1));
      BOOST_CHECK_THROW(mount.end(), std::runtime_error);
    }
    std::string recovered;
    {
      fs::MountSource opened = fs::open_source(source.path(), false, true);
      fs::MountLock lock(opened.root.get(), std::nullopt, std::chrono::seconds(0));
      BOOST_REQUIRE(lock.journal() != nullptr);
      fs::recover_kept(
          std::move(opened), lock.journal(),
          [&](const fs::KeptFile& kept, const std::string& name) {
            recovered = name;
            BOOST_TEST((kept.loss == (decodes ? fs::Loss::doubtful : fs::Loss::zeros)));
          },
          [](const std::string& reason) { BOOST_TEST(false, reason); });
    }
    // The sound chunks are whole.
    ByteVector expected = old;
    if (decodes)
      expected[kChunk] ^= 1;
    else
      std::fill_n(expected.begin() + kChunk, kChunk, std::uint8_t{0});
    InProcess mount(source.path());
    BOOST_REQUIRE(recovered.ends_with(".b2frame"));
    BOOST_CHECK(mount.read(recovered.substr(0, recovered.rfind('.'))) ==
                with_bytes(expected, kChunk + 100, ByteVector(10, 1)));
    mount.end();
  }
}

// The chunks of an array do not begin at round offsets of its file.
BOOST_AUTO_TEST_CASE(zeros_stand_for_damaged_elements_only) {
  constexpr std::int64_t kItems = 50'000, kChunk = 50'000, kHeader = 128;
  const TempDir source;
  const ByteVector items = make_contents("noise", 1, kItems * 4, 1);
  ByteVector old = bytes_of(npy_header("<i4", {kItems}));
  BOOST_REQUIRE(std::ssize(old) == kHeader);
  old.insert(old.end(), items.begin(), items.end());
  {
    InProcess mount(source.path(), "chunk_size=64K");
    mount.write("x.npy", old);
    mount.end();
  }
  ByteVector stored = read_file(source / "x.b2nd");
  const auto chunk = old.begin() + kHeader + kChunk;
  const auto found = std::search(stored.begin(), stored.end(), chunk, chunk + 64);
  BOOST_REQUIRE(found != stored.end());
  std::fill(found - 32, found, std::uint8_t{0xff});
  write_file(source / "x.b2nd", stored);
  {
    InProcess mount(source.path());
    mount.open("x.npy").write(kHeader + kChunk + 100, ByteVector(8, 1));
    BOOST_CHECK_THROW(mount.end(), std::runtime_error);
  }
  const auto done = recover(source);
  BOOST_REQUIRE(done.size() == 1u);
  std::fill_n(old.begin() + kHeader + kChunk, kChunk, std::uint8_t{0});
  BOOST_CHECK(shown_contents(source / done[0].second) ==
              with_bytes(old, kHeader + kChunk + 100, ByteVector(8, 1)));
}

BOOST_AUTO_TEST_CASE(missing_file_is_reported) {
  const Lost lost;
  for (const auto& entry : fs_std::directory_iterator(lost.source.path()))
    if (entry.path().extension() == ".tmp") fs_std::remove(entry.path());
  const auto done = lost.recover();
  BOOST_REQUIRE(done.size() == 1u);
  BOOST_TEST(done[0].second == "");
  BOOST_TEST(lost.recover().empty());
}

BOOST_AUTO_TEST_CASE(wait_for_another_process_is_reported_once_after_a_second) {
  const TempDir source;
  const InProcess mount(source.path());
  SetClock clock;
  fs::WaitNotice notice(source.path(), clock);
  notice();
  clock.move(std::chrono::milliseconds(999));
  notice();
  BOOST_TEST(mount.log().find("waiting up to") == std::string::npos);
  clock.move(std::chrono::milliseconds(1));
  notice();
  notice();
  const std::string log = mount.log();
  BOOST_TEST(log.find("waiting up to 30 s for its end") != std::string::npos, log);
  BOOST_TEST(log.find("waiting up to") == log.rfind("waiting up to"), log);
}

BOOST_AUTO_TEST_CASE(source_is_locked_while_it_is_mounted) {
  const TempDir source;
  BOOST_TEST(!fs::is_locked_by_other(source.path()));
  {
    InProcess mount(source.path());
    fs::MountSource other = fs::open_source(source.path(), false, true);
    int waits = 0;
    fs::WaitNotice notice(source.path());
    BOOST_CHECK_THROW(fs::MountLock(other.root.get(), std::nullopt, std::chrono::milliseconds(50),
                                    [&] {
                                      waits++;
                                      notice();
                                    }),
                      std::runtime_error);
    BOOST_TEST(waits > 0);
    BOOST_TEST(fs::is_locked_by_other(source.path()));
    mount.end();
  }
  BOOST_TEST(!fs::is_locked_by_other(source.path()));
  fs::wait_for_ended_mounts(source.path());
  BOOST_TEST(fs_std::is_empty(source.path()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
