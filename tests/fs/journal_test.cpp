#include "fs/source/local/files/journal.hpp"

#include <algorithm>
#include <random>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>

#include "tests/frame/volatile_disk.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/temp_dir.hpp"

using namespace bloscfs::fs;

namespace {

namespace frame = bloscfs::frame;
using bloscfs::test::read_file;
using bloscfs::test::TempDir;
using bloscfs::test::write_file;
using frame::TemporaryMaker;
using frame::test::MemoryDisk;
using frame::test::VolatileDisk;

constexpr const char* kOne = ".bloscfs-0123456789abcdef.tmp";
constexpr const char* kTwo = ".bloscfs-fedcba9876543210.tmp";

struct JournalPlace {
  JournalPlace() { write_file(home / "journal", ""); }
  Journal journal() const {
    return Journal(frame::UniqueFd(open((home / "journal").c_str(), O_RDWR | O_CLOEXEC)));
  }
  std::string text() const {
    const auto bytes = read_file(home / "journal");
    return {bytes.begin(), bytes.end()};
  }
  std::vector<KeptFile> files_in(const std::string& text) const {
    write_file(home / "journal", text);
    return journal().kept();
  }
  TempDir home;
};

std::string line(const std::string& path, const std::string& temporary = kOne) {
  return "kept " + temporary + " " + path;
}

TemporaryMaker maker(char digit) { return TemporaryMaker::parse(std::string(32, digit)).value(); }

std::string line_of(const TemporaryMaker& maker) { return "maker " + maker.text() + "\n"; }

}  // namespace

BOOST_AUTO_TEST_SUITE(journals)

BOOST_AUTO_TEST_CASE(empty_one_says_nothing) {
  const JournalPlace place;
  const Journal journal = place.journal();
  BOOST_TEST(journal.kept().empty());
  BOOST_TEST(journal.makers().empty());
  BOOST_TEST(journal.is_empty());
}

BOOST_AUTO_TEST_CASE(what_is_added_is_listed_until_it_is_forgotten) {
  const JournalPlace place;
  Journal journal = place.journal();
  journal.add(KeptFile{kOne, "a/b.npy"});
  journal.add(KeptFile{kTwo, "c"});
  BOOST_TEST(place.text() == line("a/b.npy") + "\n" + line("c", kTwo) + "\n");
  const auto files = place.journal().kept();
  BOOST_REQUIRE(files.size() == 2u);
  BOOST_TEST(files[0].temporary == kOne);
  BOOST_TEST(files[0].path == "a/b.npy");
  BOOST_TEST(files[1].temporary == kTwo);
  journal.forget(kOne);
  BOOST_REQUIRE(place.journal().kept().size() == 1u);
  BOOST_TEST(place.journal().kept()[0].path == "c");
  BOOST_TEST(!journal.is_empty());
  journal.forget(kTwo);
  journal.forget(kTwo);
  BOOST_TEST(journal.is_empty());
  BOOST_TEST(place.text() == "");
}

BOOST_AUTO_TEST_CASE(makers_are_those_of_earlier_processes) {
  const JournalPlace place;
  const TemporaryMaker earlier = maker('1'), latest = maker('2');
  {
    Journal journal = place.journal();
    for (const auto& one : {earlier, TemporaryMaker::self(), latest}) journal.add(one);
    journal.add(KeptFile{kOne, "a"});
  }
  Journal journal = place.journal();
  BOOST_REQUIRE(journal.makers().size() == 2u);
  BOOST_TEST((journal.makers()[0] == latest));
  BOOST_TEST((journal.makers()[1] == earlier));
  journal.forget(TemporaryMaker::self());
  for (const auto& one : journal.makers()) journal.forget(one);
  BOOST_TEST(place.journal().makers().empty());
  BOOST_TEST(!place.journal().is_empty());
  journal.forget(kOne);
  BOOST_TEST(place.text() == "");
}

// The journal stays while a file waits for `b2frame recover`. Mounts that come and go in that time
// must not make it grow.
BOOST_AUTO_TEST_CASE(does_not_grow_by_what_is_forgotten) {
  const JournalPlace place;
  place.journal().add(KeptFile{kOne, "a"});
  for (char digit = '0'; digit <= '9'; digit++) {
    Journal journal = place.journal();
    journal.add(maker(digit));
    BOOST_TEST(place.text() == line("a") + "\n" + line_of(maker(digit)));
    journal.forget(maker(digit));
  }
  BOOST_TEST(place.text() == line("a") + "\n");
}

BOOST_AUTO_TEST_CASE(names_of_any_bytes_come_back) {
  std::string name;
  for (int byte = 1; byte < 256; byte++)
    if (byte != '/') name += static_cast<char>(byte);
  const JournalPlace place;
  place.journal().add(KeptFile{kOne, "d/" + name});
  const std::string text = place.text();
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 1);
  const auto files = place.journal().kept();
  BOOST_REQUIRE(files.size() == 1u);
  BOOST_TEST(files[0].path == "d/" + name);
}

BOOST_AUTO_TEST_CASE(lines_that_are_none_say_nothing) {
  const JournalPlace place;
  for (const std::string text :
       {"", "\n\n", "kept\n", "kept x\n", "lost x y\n", "kept ../x y\n", "kept a.b2frame y\n",
        "kept .bloscfs-0123456789abcdeF.tmp y\n", "kept d/.bloscfs-0123456789abcdef.tmp y\n",
        "maker\n", "maker 0123\n", "maker 0123456789abcdef0123456789abcdeg\n"}) {
    BOOST_TEST(place.files_in(text).empty(), text);
    BOOST_TEST(place.journal().makers().empty(), text);
    BOOST_TEST(place.journal().is_empty(), text);
  }
  for (const std::string path :
       {"",           "/a", "..", "../a", "a/..", "a/../b", ".",   "a/./b", "a//b",  "%2E%2E/a",
        "a/%2e%2e/b", "%",  "%2", "%zz",  "%-1",  "%00",    "%0x", "a\x01", "a\xff", "a~"})
    BOOST_TEST(place.files_in(line(path) + "\n").empty(), path);
  BOOST_TEST(place.files_in(line(std::string("a\0b", 3)) + "\n").empty());
  BOOST_TEST(place.files_in("kept x\n" + line("good") + "\nmore\n").size() == 1u);
}

// A sudden end may leave a line without its end.
BOOST_AUTO_TEST_CASE(line_without_an_end_says_nothing_and_spoils_no_other) {
  const JournalPlace place;
  BOOST_TEST(place.files_in(line("a") + "\n" + line("torn")).size() == 1u);
  place.journal().add(KeptFile{kTwo, "b"});
  BOOST_TEST(place.text() == line("a") + "\n" + line("torn") + "\n" + line("b", kTwo) + "\n");
  BOOST_TEST(place.files_in(line("torn")).empty());
  BOOST_TEST(place.journal().is_empty());
}

BOOST_AUTO_TEST_CASE(one_that_is_too_long_is_read_in_part_and_names_no_makers,
                     *boost::unit_test::precondition(bloscfs::test::needs_plain_build)) {
  const JournalPlace place;
  const std::string long_line = line(std::string(4000, 'a'));
  std::string text = line_of(maker('1'));
  while (text.size() < (std::size_t{66} << 20)) text += long_line + "\n";
  const auto files = place.files_in(text);
  BOOST_TEST(files.size() > 0u);
  BOOST_TEST(files.size() * long_line.size() <= std::size_t{64} << 20);
  Journal journal = place.journal();
  BOOST_TEST(journal.makers().empty());
  journal.forget(maker('1'));
  journal.forget(kOne);
  BOOST_TEST(!journal.is_empty());
  BOOST_TEST(place.text().size() == text.size());
}

BOOST_AUTO_TEST_CASE(many_files_cost_a_line_each) {
  constexpr int kFiles = 50000;
  const JournalPlace place;
  std::string text;
  const auto temporary = [](int i) { return fmt::format(".bloscfs-{:016x}.tmp", i); };
  for (int i = 0; i < kFiles; i++) text += line("a", temporary(i)) + "\n";
  BOOST_TEST(place.files_in(text).size() == std::size_t{kFiles});
  Journal journal = place.journal();
  journal.add(KeptFile{kTwo, "b"});
  BOOST_TEST(journal.kept().size() == std::size_t{kFiles} + 1);
  for (int i = 0; i < kFiles; i++) journal.forget(temporary(i));
  BOOST_TEST(place.journal().kept().size() == 1u);
}

// Of the writes that were not flushed, a power cut may keep any part.
BOOST_AUTO_TEST_CASE(power_cuts_lose_nothing_that_was_added) {
  std::mt19937 random(20);
  for (int round = 0; round < 50; round++) {
    const auto disk = MemoryDisk::make();
    disk->put("journal", {});
    VolatileDisk store(*disk);
    Journal journal(disk->root()->open("journal"));
    std::vector<std::string> added;
    for (int step = 0; step < 12; step++) {
      disk->log.clear();
      const std::string name = frame::temporary_name();
      if (step % 4 == 3) {
        journal.forget(TemporaryMaker::self());
      } else if (step % 4 == 1) {
        journal.add(TemporaryMaker::self());
      } else {
        journal.add(KeptFile{name, std::string(1 + random() % 300, 'p') + "/f"});
        added.push_back(name);
      }
      for (const auto& operation : disk->log) {
        store.perform(operation);
        const auto cut = store.after_cut(&random);
        const auto kept = Journal(cut->root()->open("journal")).kept();
        for (const KeptFile& file : kept)
          BOOST_REQUIRE(std::count(added.begin(), added.end(), file.temporary) == 1);
        BOOST_REQUIRE(kept.size() + 1 >= added.size());
      }
      const auto cut = store.after_cut(&random);
      BOOST_REQUIRE(Journal(cut->root()->open("journal")).kept().size() == added.size());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
