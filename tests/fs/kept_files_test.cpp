#include "fs/kept_files.hpp"

#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "frame/local_store.hpp"
#include "tests/support/temp_dir.hpp"

using namespace bloscfs::fs;

namespace {

namespace frame = bloscfs::frame;
using bloscfs::test::read_file;
using bloscfs::test::TempDir;
using bloscfs::test::write_file;
using bloscfs::test::fs_std::path;

constexpr const char* kOne = ".bloscfs-0123456789abcdef.tmp";
constexpr const char* kTwo = ".bloscfs-fedcba9876543210.tmp";

struct JournalPlace {
  KeptFiles journal(const std::optional<std::string>& single = std::nullopt) const {
    return KeptFiles(store(), single);
  }
  std::shared_ptr<frame::StoreDirectory> store() const {
    return frame::make_local_store(
        frame::UniqueFd(open(home.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), nullptr,
        frame::Syncing::never);
  }
  std::string text(const std::string& name = ".bloscfs-lock") const {
    const auto bytes = read_file(home / name);
    return {bytes.begin(), bytes.end()};
  }
  std::vector<KeptFile> files_in(const std::string& text) const {
    write_file(home / ".bloscfs-lock", text);
    return journal().list();
  }
  TempDir home;
};

std::string line(const std::string& path) { return std::string("kept ") + kOne + " " + path; }

}  // namespace

BOOST_AUTO_TEST_SUITE(kept_files)

BOOST_AUTO_TEST_CASE(journal_that_is_not_there_names_nothing) {
  const JournalPlace place;
  BOOST_TEST(place.journal().list().empty());
  BOOST_TEST(bloscfs::test::fs_std::is_empty(place.home.path()));
}

BOOST_AUTO_TEST_CASE(what_is_added_is_listed_until_it_is_forgotten) {
  const JournalPlace place;
  KeptFiles journal = place.journal();
  journal.add({kOne, "a/b.npy"});
  journal.add({kTwo, "c"});
  BOOST_TEST(place.text() == line("a/b.npy") + "\nkept " + kTwo + " c\n");
  const auto files = place.journal().list();
  BOOST_REQUIRE(files.size() == 2u);
  BOOST_TEST(files[0].temporary == kOne);
  BOOST_TEST(files[0].path == "a/b.npy");
  BOOST_TEST(files[1].temporary == kTwo);
  journal.forget(kOne);
  BOOST_REQUIRE(place.journal().list().size() == 1u);
  BOOST_TEST(place.journal().list()[0].path == "c");
  journal.forget(kTwo);
  journal.forget(kTwo);
  BOOST_TEST(place.journal().list().empty());
}

BOOST_AUTO_TEST_CASE(journal_is_its_owners_alone) {
  const JournalPlace place;
  place.journal().add({kOne, "a"});
  struct stat st {};
  BOOST_REQUIRE(stat((place.home / ".bloscfs-lock").c_str(), &st) == 0);
  BOOST_TEST((st.st_mode & 07777) == 0600u);
  BOOST_TEST(std::distance(bloscfs::test::fs_std::directory_iterator(place.home.path()), {}) == 1);
}

BOOST_AUTO_TEST_CASE(single_frame_has_a_journal_of_its_own) {
  const JournalPlace place;
  place.journal("a.b2frame").add({kOne, "a"});
  place.journal().add({kTwo, "b"});
  BOOST_TEST(place.text(".a.b2frame.bloscfs-lock") == line("a") + "\n");
  BOOST_TEST(place.journal("a.b2frame").list().size() == 1u);
  BOOST_TEST(place.journal().list().size() == 1u);
  const auto all =
      kept_files_in(place.store(), {".bloscfs-lock", ".a.b2frame.bloscfs-lock", "a", "gone"});
  BOOST_REQUIRE(all.size() == 2u);
  BOOST_TEST(all[0].temporary == kTwo);
  BOOST_TEST(all[1].temporary == kOne);
}

BOOST_AUTO_TEST_CASE(names_of_any_bytes_come_back) {
  std::string name;
  for (int byte = 1; byte < 256; byte++)
    if (byte != '/') name += static_cast<char>(byte);
  const JournalPlace place;
  place.journal().add({kOne, "d/" + name});
  const std::string text = place.text();
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 1);
  const auto files = place.journal().list();
  BOOST_REQUIRE(files.size() == 1u);
  BOOST_TEST(files[0].path == "d/" + name);
}

BOOST_AUTO_TEST_CASE(lines_that_are_none_are_no_files) {
  const JournalPlace place;
  for (const std::string text :
       {"", "\n\n", "kept\n", "kept x\n", "lost x y\n", "kept ../x y\n", "kept a.b2frame y\n",
        "kept .bloscfs-0123456789abcdeF.tmp y\n", "kept d/.bloscfs-0123456789abcdef.tmp y\n"})
    BOOST_TEST(place.files_in(text).empty(), text);
  for (const std::string path : {"", "/a", "..", "../a", "a/..", "a/../b", ".", "a/./b", "a//b",
                                 "%2E%2E/a", "a/%2e%2e/b", "%", "%2", "%zz", "%-1", "%00", "%0x"})
    BOOST_TEST(place.files_in(line(path) + "\n").empty(), path);
  BOOST_TEST(place.files_in("kept x\n" + line("good") + "\nmore\n").size() == 1u);
  BOOST_TEST(place.files_in(line("good")).size() == 1u);
}

BOOST_AUTO_TEST_CASE(journal_without_an_end_is_read_in_part) {
  const JournalPlace place;
  std::string text;
  while (text.size() < (std::size_t{66} << 20)) text += line(std::string(4000, 'a')) + "\n";
  const auto files = place.files_in(text);
  BOOST_TEST(files.size() > 0u);
  BOOST_TEST(files.size() * line(std::string(4000, 'a')).size() <= std::size_t{64} << 20);
}

BOOST_AUTO_TEST_CASE(many_kept_files_are_all_listed) {
  const JournalPlace place;
  std::string text;
  for (int i = 0; i < 50000; i++) text += line("a") + "\n";
  BOOST_TEST(place.files_in(text).size() == 50000u);
  place.journal().add({kTwo, "b"});
  BOOST_TEST(place.journal().list().size() == 50001u);
}

BOOST_AUTO_TEST_CASE(journal_that_is_no_regular_file_names_nothing) {
  const JournalPlace place;
  write_file(place.home / "other", line("a") + "\n");
  const path journal = place.home / ".bloscfs-lock";
  bloscfs::test::fs_std::create_symlink("other", journal);
  BOOST_TEST(place.journal().list().empty());
  bloscfs::test::fs_std::remove(journal);
  BOOST_REQUIRE(mkfifo(journal.c_str(), 0644) == 0);
  BOOST_TEST(place.journal().list().empty());
}

BOOST_AUTO_TEST_SUITE_END()
