// Checks that the programs have the hardening that the compiler and the linker were asked for.

#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

Precondition needs_readelf(boost::unit_test::test_unit_id) {
  return have_program("readelf") ? Precondition(true) : skip("readelf is not installed");
}

/// The C library checks calls only in optimised libraries.
Precondition needs_fortified_build(boost::unit_test::test_unit_id) {
  return BLOSCFS_FORTIFIED ? Precondition(true) : skip("not optimised, or sanitized");
}

Precondition needs_marked_objects(boost::unit_test::test_unit_id) {
#if defined(__CET__)
  return true;
#else
  return skip("the compiler does not mark what it makes, or not for this processor");
#endif
}

/// Returns the output of readelf for a file.
std::string readelf(const std::string& option, const std::string& file) {
  const auto result = run({"readelf", "-W", option, file});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  return result.out;
}

/// Returns the first line that contains `part`, or an empty string.
std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t found = text.find(part);
  if (found == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', found) + 1;  // npos + 1 is the first line's begin
  return text.substr(begin, text.find('\n', found) - begin);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

template <typename Check>
void for_each_program(const Check& check) {
  for (const std::string& program : {bloscfs_program(), b2frame_program()})
    BOOST_TEST_CONTEXT(program) { check(program); }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hardening, *precondition(needs_readelf))

BOOST_AUTO_TEST_CASE(programs_are_loaded_at_any_address) {
  for_each_program([](const std::string& program) {
    BOOST_TEST(line_with(readelf("-h", program), "Type:").find("DYN") != std::string::npos);
    BOOST_TEST(line_with(readelf("-d", program), "(FLAGS_1)").find("PIE") != std::string::npos);
  });
}

BOOST_AUTO_TEST_CASE(what_the_loader_has_resolved_is_read_only) {
  for_each_program([](const std::string& program) {
    BOOST_TEST(line_with(readelf("-l", program), "GNU_RELRO") != "");
    BOOST_TEST(line_with(readelf("-d", program), "(FLAGS_1)").find("NOW") != std::string::npos);
    BOOST_TEST(line_with(readelf("-d", program), "BIND_NOW") != "");
  });
}

BOOST_AUTO_TEST_CASE(stacks_hold_no_code) {
  for_each_program([](const std::string& program) {
    const std::string stack = line_with(readelf("-l", program), "GNU_STACK");
    BOOST_TEST(stack.find(" RW ") != std::string::npos, stack);
  });
}

BOOST_AUTO_TEST_CASE(functions_check_that_their_stack_is_whole) {
  for_each_program([](const std::string& program) {
    BOOST_TEST(line_with(readelf("--dyn-syms", program), "__stack_chk_fail") != "");
  });
}

BOOST_AUTO_TEST_CASE(calls_of_the_c_library_are_checked, *precondition(needs_fortified_build)) {
  for_each_program([](const std::string& program) {
    BOOST_TEST(line_with(readelf("--dyn-syms", program), "_chk@") != "");
  });
}

/// A program has the mark only if the start files of the C library have it too. So check the
/// libraries.
BOOST_AUTO_TEST_CASE(indirect_jumps_and_returns_can_be_checked_by_the_processor,
                     *precondition(needs_marked_objects)) {
  for (const std::string name : {"codec/libcodec.a", "frame/libframe.a", "fs/libfs.a"}) {
    const std::string notes = readelf("-n", std::string(BLOSCFS_TEST_BUILD_ROOT) + "/" + name);
    BOOST_TEST(count_of(notes, "IBT, SHSTK") > 0u, name);
    BOOST_TEST(count_of(notes, "IBT, SHSTK") == count_of(notes, "File: "), name);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
