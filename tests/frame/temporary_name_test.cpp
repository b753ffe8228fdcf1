#include "frame/store/temporary_name.hpp"

#include <set>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>

#include "frame/store/byte_source.hpp"
#include "tests/support/temp_dir.hpp"

using namespace bloscfs::frame;
using bloscfs::test::TempDir;
using bloscfs::test::write_file;

namespace {

std::string with_other_digit(std::string name, std::size_t at) {
  name[at] = name[at] == '0' ? '1' : '0';
  return name;
}

constexpr std::size_t kFirstDigit = 9, kLastDigit = 24;

}  // namespace

BOOST_AUTO_TEST_SUITE(temporary_names)

BOOST_AUTO_TEST_CASE(are_sixteen_digits_between_fixed_ends) {
  BOOST_TEST(is_temporary_name(".bloscfs-0123456789abcdef.tmp"));
  for (const char* name :
       {".bloscfs-0123456789abcdeF.tmp", ".bloscfs-0123456789abcde.tmp",
        ".bloscfs-0123456789abcdef.tmp2", ".bloscfs-0123456789abcdef0.tmp",
        "bloscfs-0123456789abcdef.tmp", ".bloscfs--123456789abcdef.tmp",
        ".bloscfs-+123456789abcdef.tmp", ".bloscfs-0x23456789abcdef.tmp", ".bloscfs-.tmp", ""})
    BOOST_TEST(!is_temporary_name(name), name);
}

BOOST_AUTO_TEST_CASE(differ_and_are_known_by_their_maker_alone) {
  const auto other = TemporaryMaker::parse(std::string(32, '7'));
  BOOST_REQUIRE(other.has_value());
  std::set<std::string> names;
  for (int i = 0; i < 10000; i++) {
    const std::string name = temporary_name();
    BOOST_REQUIRE(is_temporary_name(name));
    BOOST_REQUIRE(TemporaryMaker::self().has_made(name));
    BOOST_REQUIRE(!other->has_made(name));
    names.insert(name);
  }
  BOOST_TEST(names.size() == 10000u);
  for (std::size_t at = kFirstDigit; at <= kLastDigit; at++)
    BOOST_TEST(!TemporaryMaker::self().has_made(with_other_digit(*names.begin(), at)), at);
  for (const char* name : {".bloscfs-0123456789abcdef.tmp", ".bloscfs-0000000000000000.tmp", "a"})
    BOOST_TEST(!TemporaryMaker::self().has_made(name), name);
}

BOOST_AUTO_TEST_CASE(makers_are_read_as_they_are_written) {
  const std::string text = TemporaryMaker::self().text();
  BOOST_TEST(text.size() == 32u);
  const auto read = TemporaryMaker::parse(text);
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST((*read == TemporaryMaker::self()));
  BOOST_TEST(read->has_made(temporary_name()));
  for (const std::string& bad : {std::string(), text.substr(1), text + "0", "+" + text.substr(1),
                                 "g" + text.substr(1), text.substr(0, 31) + "\n"})
    BOOST_TEST(!TemporaryMaker::parse(bad).has_value(), bad);
}

BOOST_AUTO_TEST_CASE(what_is_set_aside_is_that_object_and_no_other) {
  const TempDir home;
  write_file(home / "a", "a");
  write_file(home / "b", "b");
  const UniqueFd directory(::open(home.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto a = identity_at(directory.get(), "a"), b = identity_at(directory.get(), "b");
  BOOST_REQUIRE((a && b));
  BOOST_TEST(!identity_at(directory.get(), "c").has_value());
  const std::string name = displaced_name(*a);
  BOOST_TEST(name == displaced_name(*a));
  BOOST_TEST(is_temporary_name(name));
  BOOST_TEST(TemporaryMaker::self().has_displaced(name, *a));
  BOOST_TEST(!TemporaryMaker::self().has_displaced(name, *b));
  BOOST_TEST(!TemporaryMaker::self().has_displaced(temporary_name(), *a));
  BOOST_TEST(!TemporaryMaker::self().has_made(name));
  // Another file may get the same inode number later.
  BOOST_TEST(!TemporaryMaker::self().has_displaced(name, {a->inode, a->birth_time_ns + 1}));
  bloscfs::test::fs_std::rename(home / "a", home / name);
  const UniqueFd moved(::open((home / name).c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_TEST((identity_at(directory.get(), name) == a));
  BOOST_TEST((identity_at(moved.get(), "") == a));
}

BOOST_AUTO_TEST_SUITE_END()
