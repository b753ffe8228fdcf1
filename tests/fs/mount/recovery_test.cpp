// Changes that a mount cannot commit before it ends: it keeps them, and `b2frame recover` gives
// them a name later.

#include "fs/source/local/recovery.hpp"

#include <algorithm>
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
#include "tests/support/set_clock.hpp"

namespace bloscfs::test {
namespace {

ByteVector lost_contents() { return make_contents("noise", 5, 30000, 1); }

/// Recovers all kept files. Returns pairs of the lost and the recovered path.
std::vector<std::pair<std::string, std::string>> recover_in(const fs_std::path& source) {
  fs::MountSource opened = fs::open_source(source, false, true);
  fs::MountLock lock(opened.root.get(), std::nullopt, std::chrono::seconds(0));
  BOOST_REQUIRE(lock.journal() != nullptr);
  std::vector<std::pair<std::string, std::string>> done;
  fs::recover_kept(std::move(opened), lock.journal(),
                   [&](const fs::KeptFile& kept, const std::string& path) {
                     done.emplace_back(kept.path, path);
                   });
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
  std::vector<std::pair<std::string, std::string>> recover() const {
    return recover_in(source.path());
  }
  const TempDir source;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(recovery_in_process)

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

BOOST_AUTO_TEST_CASE(recovered_file_has_metalayers_and_attributes) {
  const std::string fixed = "user.blosc2.meta.", variable = "user.blosc2.vlmeta.";
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("old"));
  {
    InProcess mount(source.path());
    mount.set_attribute("a", fixed + "old", "1");
    mount.set_attribute("a", variable + "old", "2");
    mount.set_attribute("a", variable + "removed", "3");
    mount.set_attribute("a", "user.note", "4");
    mount.end();
  }
  {
    InProcess mount(source.path());
    mount.write("a", lost_contents());
    mount.set_attribute("a", fixed + "new", "5");
    mount.set_attribute("a", variable + "new", "6");
    mount.remove_attribute("a", variable + "removed");
    fs::NewAttributes wanted;
    wanted.mode = 0640;
    wanted.modified = wanted.accessed = timespec{1'000'000'000, 0};
    mount.set("a", wanted);
    const FailedCalls failed(Call::write, EIO, "/a.b2frame");
    BOOST_CHECK_THROW(mount.end(), std::runtime_error);
  }
  const auto done = recover_in(source.path());
  BOOST_REQUIRE(done.size() == 1u);
  const std::string name = done[0].second.substr(0, done[0].second.rfind('.'));
  InProcess mount(source.path());
  BOOST_CHECK(mount.read(name) == lost_contents());
  for (const auto& [attribute, value] : std::map<std::string, std::string>{{fixed + "old", "1"},
                                                                           {variable + "old", "2"},
                                                                           {"user.note", "4"},
                                                                           {fixed + "new", "5"},
                                                                           {variable + "new", "6"}})
    BOOST_TEST(mount.attribute(name, attribute) == value, attribute);
  BOOST_TEST(error_of([&] { mount.attribute(name, variable + "removed"); }) == ENODATA);
  const struct stat st = mount.stat(name);
  BOOST_TEST((st.st_mode & 0777) == 0640u);
  BOOST_TEST(st.st_mtim.tv_sec == 1'000'000'000);
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
    fs::MountSource opened = fs::open_source(source.path(), false, true);
    fs::MountLock lock(opened.root.get(), std::nullopt, std::chrono::seconds(0));
    BOOST_REQUIRE(lock.journal() != nullptr);
    int count = 0;
    fs::recover_kept(std::move(opened), lock.journal(),
                     [&](const fs::KeptFile& kept, const std::string&) {
                       count++;
                       BOOST_TEST((kept.loss == (decodes ? fs::Loss::doubtful : fs::Loss::zeros)));
                     });
    BOOST_TEST(count == 1);
  }
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
