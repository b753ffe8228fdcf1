#include "fs/source/local/files/target_name.hpp"

#include <map>
#include <random>

#include <boost/test/unit_test.hpp>

using namespace bloscfs::fs;

namespace {

using Names = std::vector<std::string>;
using Directory = std::map<std::string, ShownAs>;
constexpr ShownAs itself = ShownAs::itself;
constexpr ShownAs flat = ShownAs::flat;
constexpr ShownAs array = ShownAs::array;

EntryProbe probe_of(const Directory& directory) {
  return [&directory](const std::string& name) -> std::optional<ShownAs> {
    const auto found = directory.find(name);
    if (found == directory.end()) return std::nullopt;
    return found->second;
  };
}

bool fits(const std::string& shown_name, const std::string& full_name, ShownAs shown,
          const Directory& others) {
  return shows_as(shown_name, full_name, shown, probe_of(others));
}

/// Returns the shown names of a directory, by full name.
std::map<std::string, std::string> shown(const Directory& directory) {
  std::vector<NamedEntry> entries;
  for (const auto& [name, as] : directory) entries.push_back({name, as});
  const Names names = shown_names(entries);
  std::map<std::string, std::string> result;
  for (std::size_t i = 0; i < names.size(); i++) result[entries[i].full_name] = names[i];
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(target_name)

BOOST_AUTO_TEST_CASE(new_files_get_the_suffix) {
  BOOST_TEST(container_names("a", flat, "", ".b2frame") == (Names{"a.b2frame"}));
  BOOST_TEST(container_names("a.txt", flat, "", ".b2") == (Names{"a.txt.b2"}));
  BOOST_TEST(container_names("a.b2frame", flat, "", ".b2") == (Names{"a.b2frame.b2"}));
  BOOST_TEST(container_names("a.npy", flat, "", ".b2frame") == (Names{"a.npy.b2frame"}));
}

BOOST_AUTO_TEST_CASE(arrays_lose_npy_from_their_names) {
  BOOST_TEST(container_names("a.npy", array, "", ".b2nd") == (Names{"a.b2nd", "a.npy.b2nd"}));
  BOOST_TEST(container_names(".npy", array, "", ".b2nd") == (Names{".npy.b2nd"}));
  BOOST_TEST(container_names("a", array, "", ".b2nd").empty());
}

BOOST_AUTO_TEST_CASE(renamed_containers_keep_their_suffix) {
  BOOST_TEST(container_names("b", flat, "a.b2f", ".b2frame") == (Names{"b.b2f", "b.b2frame"}));
  BOOST_TEST(container_names("b.npy", array, "a.b2f", ".b2nd").front() == "b.b2f");
  BOOST_TEST(container_names("b", ShownAs::frame_store, "a.cframe", ".b2frame") ==
             (Names{"b.cframe", "b.b2frame"}));
  BOOST_TEST(container_names("b", flat, "p.blp", ".b2frame").front() == "b.blp");
  BOOST_TEST(container_names("m.npy", array, "n", ".b2nd").front() == "m");
  BOOST_TEST(container_names("b", flat, "n", ".b2frame") == (Names{"b", "b.b2frame"}));
}

BOOST_AUTO_TEST_CASE(a_name_without_suffix_must_not_look_like_one_with) {
  BOOST_TEST(container_names("b.b2", flat, "n", ".b2frame") == (Names{"b.b2.b2frame"}));
}

BOOST_AUTO_TEST_CASE(names_too_long_for_a_suffix_go_without) {
  const std::string longest(255, 'x');
  BOOST_TEST(container_names(longest, flat, "", ".b2frame") == (Names{longest}));
  const std::string fitting(247, 'x');
  BOOST_TEST(container_names(fitting, flat, "", ".b2frame") == (Names{fitting + ".b2frame"}));
}

BOOST_AUTO_TEST_CASE(refuses_names_that_are_taken) {
  BOOST_TEST(fits("a", "a.b2frame", flat, {}));
  BOOST_TEST(!fits("a", "a.b2frame", flat, {{"a", itself}}));
  BOOST_TEST(!fits("a", "a.b2frame", flat, {{"a.b2f", flat}}));
  BOOST_TEST(!fits("a", "a.b2frame", flat, {{"a.b2frame", itself}}));
  BOOST_TEST(!fits("a", "a", itself, {{"a.b2", flat}}));
}

BOOST_AUTO_TEST_CASE(refuses_names_that_others_have_given_way_for) {
  // m.b2frame and m.blp compete for the shown name m, so neither gets it. A third file would not
  // get it either.
  const Directory rivals = {{"m.b2frame", flat}, {"m.blp", flat}};
  BOOST_TEST(!fits("m", "m.b2", flat, rivals));
  BOOST_TEST(fits("m", "m", itself, rivals));
}

BOOST_AUTO_TEST_CASE(refuses_names_that_no_mount_shows) {
  BOOST_TEST(!fits(".bloscfs-0123456789abcdef.tmp", ".bloscfs-0123456789abcdef.tmp", itself, {}));
  BOOST_TEST(fits(".bloscfs-0123456789abcdef.tmp", ".bloscfs-0123456789abcdef.tmp.b2", flat, {}));
}

BOOST_AUTO_TEST_CASE(names_that_fit_leave_all_others_alone) {
  std::mt19937 random(20240301);
  const Names pieces = {".b2", ".b2nd", ".blp", ".npy", ".b2frame"};
  const auto pick_name = [&] {
    std::string name(1, static_cast<char>('a' + random() % 2));
    for (auto parts = random() % 4; parts > 0; parts--) name += pieces[random() % 5];
    return name;
  };
  int fitting = 0;
  for (int round = 0; round < 20000; round++) {
    Directory others;
    for (auto i = random() % 8; i > 0; i--)
      others[pick_name()] = static_cast<ShownAs>(random() % 3);
    const std::string wanted = pick_name();
    const auto as = static_cast<ShownAs>(random() % 3);
    const Names names =
        as == itself ? Names{wanted} : container_names(wanted, as, pick_name(), ".b2frame");
    for (const std::string& full_name : names) {
      if (!fits(wanted, full_name, as, others)) continue;
      fitting++;
      Directory all = others;
      all[full_name] = as;
      auto expected = shown(others);
      expected[full_name] = wanted;
      BOOST_REQUIRE(shown(all) == expected);
    }
  }
  BOOST_TEST(fitting > 2000);
}

BOOST_AUTO_TEST_SUITE_END()
