// How a commit stores a file, for every combination of facts.

#include "fs/commit/representation.hpp"

#include <cerrno>
#include <set>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/in_process.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::fs {
namespace {

using Stored = RepresentationFacts::Stored;

enum class Chosen { in_place, flat, array, refused };

std::ostream& operator<<(std::ostream& out, Chosen chosen) {
  return out << static_cast<int>(chosen);
}

/// The facts of a file without changes. `asked` records which of the costly facts were asked for.
struct Case {
  explicit Case(Stored stored) {
    facts.stored = stored;
    facts.keeps_array = [this] { return asked.insert("array"), keeps_array; };
    facts.name_can_be_array = [this] { return asked.insert("name"), name_can_be_array; };
    facts.array_settings = [this] {
      asked.insert("settings");
      return fits_array ? std::optional<frame::FrameSettings>(frame::FrameSettings())
                        : std::nullopt;
    };
    facts.flat_settings = [this] { return asked.insert("sample"), frame::FrameSettings(); };
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  Chosen choose() {
    Representation chosen;
    const int error = test::error_of([&] { chosen = choose_representation(facts); });
    if (error != 0) {
      BOOST_TEST(error == EOPNOTSUPP);
      return Chosen::refused;
    }
    if (std::holds_alternative<NewArray>(chosen)) return Chosen::array;
    return std::holds_alternative<NewFlat>(chosen) ? Chosen::flat : Chosen::in_place;
  }

  RepresentationFacts facts;
  bool keeps_array = true, name_can_be_array = true, fits_array = true;
  std::set<std::string> asked;
};

/// Returns what the rules say, without regard to the order in which facts are looked at.
Chosen expected(const Case& it) {
  const RepresentationFacts& facts = it.facts;
  const bool is_array = facts.stored == Stored::array;
  const bool stands = is_array && it.keeps_array;
  if (facts.must_choose_representation && !facts.has_links && !facts.is_raw && !stands &&
      it.name_can_be_array && it.fits_array)
    return Chosen::array;
  const bool there = facts.stored != Stored::nothing && facts.is_writable;
  const bool in_part = facts.can_change_in_part || !facts.changes_contents;
  const bool fits = facts.stored == Stored::flat
                        ? !(facts.has_variable_chunks && facts.changes_size)
                        : it.keeps_array;
  const bool may_stay =
      !is_array || (!facts.is_forced_flat && (facts.is_raw || it.name_can_be_array));
  if (there && in_part && fits && may_stay) return Chosen::in_place;
  return facts.has_links ? Chosen::refused : Chosen::flat;
}

/// Makes a NPY file of 8-byte floats.
test::ByteVector npy_file(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  std::size_t items = 1;
  for (const std::int64_t extent : shape) items *= static_cast<std::size_t>(extent);
  const std::string header = test::npy_header("<f8", shape);
  return test::with_bytes(test::bytes_of(header), header.size(),
                          test::make_contents("floats", seed, items * 8, 8));
}

/// Sets the facts from the bits of a number. Returns false if the number has more bits than there
/// are facts.
bool set_facts(Case& it, unsigned number) {
  const auto bit = [&] { return std::exchange(number, number / 2) % 2 != 0; };
  it.facts.is_writable = bit();
  it.facts.changes_size = bit();
  it.facts.changes_contents = bit() || it.facts.changes_size;
  it.facts.can_change_in_part = bit();
  it.facts.has_variable_chunks = bit();
  it.facts.has_links = bit();
  it.facts.is_raw = bit();
  it.facts.is_forced_flat = bit();
  it.facts.must_choose_representation = bit();
  it.keeps_array = bit();
  it.name_can_be_array = bit();
  it.fits_array = bit();
  return number == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(representations)

BOOST_AUTO_TEST_CASE(each_combination_of_facts_follows_the_rules) {
  std::set<Chosen> seen;
  for (const Stored stored : {Stored::nothing, Stored::flat, Stored::array, Stored::items})
    for (unsigned number = 0;; number++) {
      Case it(stored);
      if (!set_facts(it, number)) break;
      const Chosen chosen = it.choose();
      seen.insert(chosen);
      BOOST_REQUIRE_MESSAGE(chosen == expected(it), static_cast<int>(stored)
                                                        << " with facts " << number);
    }
  BOOST_TEST(seen.size() == 4u);
}

BOOST_AUTO_TEST_CASE(new_file_is_flat_until_nobody_writes_to_it) {
  Case it(Stored::nothing);
  BOOST_TEST(it.choose() == Chosen::flat);
  BOOST_CHECK(it.asked == std::set<std::string>{"sample"});
  it.facts.must_choose_representation = true;
  BOOST_TEST(it.choose() == Chosen::array);
  it.fits_array = false;
  BOOST_TEST(it.choose() == Chosen::flat);
}

BOOST_AUTO_TEST_CASE(fsync_makes_an_array_of_a_complete_file_that_is_open) {
  const test::TempDir source;
  test::InProcess mount(source.path());
  const test::InProcess::File file = mount.create("t.npy");
  test::ByteVector contents = npy_file({20, 30}, 1);
  file.write(0, contents);
  file.sync();
  BOOST_TEST(test::stored_names(source.path()) == test::Names{"t.b2nd"},
             boost::test_tools::per_element());
  // The file stays an array while a program writes to it, until its bytes are no NPY file any more.
  contents = test::with_bytes(contents, 1000, test::bytes_of("elements"));
  file.write(1000, test::bytes_of("elements"));
  file.sync();
  BOOST_CHECK(test::shown_contents(source / "t.b2nd") == contents);
  file.write(std::nullopt, test::bytes_of("more"));
  file.sync();
  BOOST_TEST(test::stored_names(source.path()) == test::Names{"t.npy.b2frame"},
             boost::test_tools::per_element());
  // After a truncation to 0, the new contents may become an array again.
  file.truncate(0);
  contents = npy_file({7, 11, 13}, 2);
  file.write(0, contents);
  file.sync();
  BOOST_CHECK(test::shown_contents(source / "t.b2nd") == contents);
  BOOST_CHECK(file.contents() == contents);
}

BOOST_AUTO_TEST_CASE(fsync_of_a_part_leaves_a_file_flat_until_it_is_closed) {
  const test::TempDir source;
  test::InProcess mount(source.path());
  const test::ByteVector contents = npy_file({20, 30}, 1);
  {
    const test::InProcess::File file = mount.create("t.npy");
    file.write(0, {contents.begin(), contents.begin() + 2000});
    file.sync();
    file.write(2000, {contents.begin() + 2000, contents.end()});
    file.sync();
    BOOST_TEST(test::stored_names(source.path()) == test::Names{"t.npy.b2frame"},
               boost::test_tools::per_element());
  }
  mount->commit_written();
  BOOST_CHECK(test::shown_contents(source / "t.b2nd") == contents);
}

BOOST_AUTO_TEST_CASE(arrays_have_up_to_16_dimensions) {
  const test::TempDir source;
  test::InProcess mount(source.path(), "chunk_size=16K,block_size=4K");
  std::vector<std::int64_t> shape(16, 2);
  shape[9] = 3;
  const test::ByteVector contents = npy_file(shape, 1);
  mount.write("t.npy", contents);
  shape.push_back(1);
  mount.write("u.npy", npy_file(shape, 1));
  mount.end();
  BOOST_TEST(test::stored_names(source.path()) == (test::Names{"t.b2nd", "u.npy.b2frame"}),
             boost::test_tools::per_element());
  BOOST_CHECK(test::shown_contents(source / "t.b2nd") == contents);
}

BOOST_AUTO_TEST_CASE(flat_file_is_changed_in_place_and_nothing_is_asked) {
  Case it(Stored::flat);
  it.facts.changes_contents = it.facts.changes_size = true;
  BOOST_TEST(it.choose() == Chosen::in_place);
  BOOST_CHECK(it.asked.empty());
}

BOOST_AUTO_TEST_CASE(array_stays_one_while_its_header_stands) {
  Case it(Stored::array);
  it.facts.changes_contents = true;
  BOOST_TEST(it.choose() == Chosen::in_place);
  BOOST_CHECK(it.asked == (std::set<std::string>{"array", "name"}));
  it.keeps_array = false;
  BOOST_TEST(it.choose() == Chosen::flat);
  it.facts.must_choose_representation = true;
  BOOST_TEST(it.choose() == Chosen::array);
}

BOOST_AUTO_TEST_CASE(array_is_flat_where_it_is_held_or_has_no_name_for_one) {
  Case held(Stored::array);
  held.facts.is_forced_flat = true;
  BOOST_TEST(held.choose() == Chosen::flat);
  Case renamed(Stored::array);
  renamed.name_can_be_array = false;
  BOOST_TEST(renamed.choose() == Chosen::flat);
}

BOOST_AUTO_TEST_CASE(links_keep_what_is_stored) {
  Case flat(Stored::flat);
  flat.facts.has_links = flat.facts.must_choose_representation = true;
  BOOST_TEST(flat.choose() == Chosen::in_place);
  BOOST_CHECK(flat.asked.empty());
  Case held(Stored::array);
  held.facts.has_links = held.facts.is_forced_flat = true;
  BOOST_TEST(held.choose() == Chosen::refused);
}

BOOST_AUTO_TEST_CASE(raw_mounts_make_no_arrays) {
  Case it(Stored::items);
  it.facts.is_raw = it.facts.must_choose_representation = true;
  BOOST_TEST(it.choose() == Chosen::in_place);
  it.facts.stored = Stored::nothing;
  BOOST_TEST(it.choose() == Chosen::flat);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_changed_in_part_is_stored_anew) {
  Case it(Stored::flat);
  it.facts.can_change_in_part = false;
  BOOST_TEST(it.choose() == Chosen::in_place);
  it.facts.changes_contents = true;
  BOOST_TEST(it.choose() == Chosen::flat);
  Case variable(Stored::flat);
  variable.facts.has_variable_chunks = variable.facts.changes_contents = true;
  BOOST_TEST(variable.choose() == Chosen::in_place);
  variable.facts.changes_size = true;
  BOOST_TEST(variable.choose() == Chosen::flat);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
