#include "fs/source/naming.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <boost/test/unit_test.hpp>

using namespace bloscfs::fs;

namespace {

/// Returns the full names of a directory by shown name, and checks that no shown name occurs twice.
std::map<std::string, std::string> listed(const std::vector<NamedEntry>& entries) {
  std::map<std::string, std::string> full_by_shown;
  const std::vector<std::string> names = shown_names(entries);
  for (std::size_t i = 0; i < entries.size(); i++) {
    const bool is_new = full_by_shown.emplace(names[i], entries[i].full_name).second;
    BOOST_TEST_CONTEXT("shown name " << names[i]) { BOOST_TEST(is_new); }
  }
  return full_by_shown;
}

void check_lookups_agree(const std::vector<NamedEntry>& entries) {
  const EntryProbe probe = [&](const std::string& name) -> std::optional<ShownAs> {
    for (const NamedEntry& entry : entries)
      if (entry.full_name == name) return entry.shown;
    return std::nullopt;
  };
  const auto by_shown = listed(entries);
  for (const auto& [shown, full] : by_shown)
    BOOST_TEST(full_name_of(shown, probe).value_or("(none)") == full);
  for (const NamedEntry& entry : entries)
    for (const std::string& name : {entry.full_name, std::string(stem(entry.full_name)),
                                    std::string(stem(entry.full_name)) + ".npy"})
      if (by_shown.count(name) == 0) BOOST_TEST(!full_name_of(name, probe));
}

std::vector<std::string> shown(const std::vector<NamedEntry>& entries) {
  check_lookups_agree(entries);
  return shown_names(entries);
}

using Names = std::vector<std::string>;
constexpr ShownAs itself = ShownAs::itself;
constexpr ShownAs flat = ShownAs::flat;
constexpr ShownAs array = ShownAs::array;
constexpr ShownAs store = ShownAs::store;
constexpr ShownAs frame_store = ShownAs::frame_store;

}  // namespace

BOOST_AUTO_TEST_SUITE(naming)

BOOST_AUTO_TEST_CASE(strips_one_container_suffix) {
  BOOST_TEST(stem("a.b2frame") == "a");
  BOOST_TEST(stem("a.b2f") == "a");
  BOOST_TEST(stem("a.b2") == "a");
  BOOST_TEST(stem("a.b2nd") == "a");
  BOOST_TEST(stem("a.blp") == "a");
  BOOST_TEST(stem("a.b2.b2frame") == "a.b2");
  BOOST_TEST(stem("a.cframe") == "a.cframe");
  BOOST_TEST(stem("a.cframe", frame_store) == "a");
  BOOST_TEST(stem("a.b2e", frame_store) == "a");
  BOOST_TEST(stem("a.cframe.b2e", frame_store) == "a.cframe");
  BOOST_TEST(stem(".cframe", frame_store) == ".cframe");
  BOOST_TEST(stem("a.txt") == "a.txt");
  BOOST_TEST(stem(".b2nd") == ".b2nd");
  BOOST_TEST(stem("") == "");
}

BOOST_AUTO_TEST_CASE(shows_the_design_table) {
  BOOST_TEST(shown({{"a.b2frame", flat}, {"t.b2nd", array}, {"u.b2nd", flat}}) ==
             (Names{"a", "t.npy", "u"}));
  BOOST_TEST(shown({{"n", array}, {"a.npy.b2nd", array}}) == (Names{"n.npy", "a.npy"}));
  BOOST_TEST(shown({{"x.b2frame", itself}, {"d.b2frame", itself}}) ==
             (Names{"x.b2frame", "d.b2frame"}));
  BOOST_TEST(shown({{"a", itself}, {"a.b2", flat}}) == (Names{"a", "a.b2"}));
  BOOST_TEST(shown({{"a", itself}, {"a.b2", flat}, {"a.b2.b2frame", flat}}) ==
             (Names{"a", "a.b2", "a.b2.b2frame"}));
  BOOST_TEST(shown({{"m.b2frame", flat}, {"m.blp", flat}}) == (Names{"m.b2frame", "m.blp"}));
}

BOOST_AUTO_TEST_CASE(falls_back_along_a_chain_of_collisions) {
  BOOST_TEST(shown({{"x.b2", array}, {"x.blp", array}, {"x.b2.b2", flat}}) ==
             (Names{"x.b2", "x.blp", "x.b2.b2"}));
  BOOST_TEST(shown({{"n", array}, {"n.npy", itself}, {"n.b2f", flat}}) ==
             (Names{"n", "n.npy", "n.b2f"}));
}

BOOST_AUTO_TEST_CASE(cframe_is_taken_off_the_names_of_frame_stores) {
  BOOST_TEST(shown({{"a.cframe", frame_store}, {"b.cframe", flat}, {"c.cframe", store}}) ==
             (Names{"a", "b.cframe", "c.cframe"}));
  BOOST_TEST(shown({{"a.cframe", frame_store}, {"a.b2frame", flat}}) ==
             (Names{"a.cframe", "a.b2frame"}));
  BOOST_TEST(shown({{"a.cframe", frame_store}, {"a", itself}, {"a.cframe.b2", flat}}) ==
             (Names{"a.cframe", "a", "a.cframe.b2"}));
}

BOOST_AUTO_TEST_CASE(keeps_full_name_when_npy_would_be_too_long) {
  const std::string longest(255, 'x');
  BOOST_TEST(preferred_name(longest, array) == longest);
}

BOOST_AUTO_TEST_CASE(recognises_temporaries_and_sidecars) {
  BOOST_TEST(is_temporary(".bloscfs-0123456789abcdef.tmp"));
  BOOST_TEST(!is_temporary(".bloscfs-0123456789abcdeF.tmp"));
  BOOST_TEST(!is_temporary(".bloscfs-0123456789abcde.tmp"));
  BOOST_TEST(!is_temporary(".bloscfs-0123456789abcdef.tmp2"));
  BOOST_TEST(locked_name("a.b2nd.b2lock").value_or("") == "a.b2nd");
  BOOST_TEST(!locked_name(".b2lock"));
  BOOST_TEST(!locked_name("a"));
}

BOOST_AUTO_TEST_CASE(suffixes_promise_what_a_file_is) {
  for (const char* name : {"a.b2frame", "a.b2f", "a.b2", "a.blp", "a.npy.b2frame", "a.b2nd.b2"})
    BOOST_TEST((promised_by(name) == flat), name);
  for (const char* name : {"a.b2nd", "a.npy.b2nd", "a.b2.b2nd"})
    BOOST_TEST((promised_by(name) == array), name);
  for (const char* name : {"a", "a.npy", ".b2nd", ".b2frame", "b2nd", "a.b2ndx", ""})
    BOOST_TEST((promised_by(name) == itself), name);
}

BOOST_AUTO_TEST_CASE(recognises_the_files_that_stand_for_a_source) {
  BOOST_TEST(lock_file_name(std::nullopt) == ".bloscfs-lock");
  BOOST_TEST(lock_file_name("a.b2frame") == ".a.b2frame.bloscfs-lock");
  for (const char* name : {".bloscfs-lock", ".a.b2frame.bloscfs-lock", "..bloscfs-lock"})
    BOOST_TEST(is_lock_file(name), name);
  for (const char* name : {"bloscfs-lock", "a.bloscfs-lock", ".bloscfs-lock2", ".bloscfs-loc",
                           ".bloscfs-lock.b2frame", ""})
    BOOST_TEST(!is_lock_file(name), name);
}

BOOST_AUTO_TEST_CASE(lookup_agrees_with_listing_in_random_directories) {
  std::mt19937 random(20240229);
  const std::vector<std::string> pieces = {".b2", ".b2nd", ".blp", ".npy", ".b2frame", ".cframe"};
  for (int round = 0; round < 3000; round++) {
    std::map<std::string, ShownAs> chosen;
    const auto count = 1 + random() % 9;
    for (auto i = count; i > 0; i--) {
      std::string name(1, static_cast<char>('a' + random() % 2));
      for (auto parts = random() % 4; parts > 0; parts--) name += pieces[random() % pieces.size()];
      chosen[name] = static_cast<ShownAs>(random() % 5);
    }
    std::vector<NamedEntry> entries;
    for (const auto& [name, as] : chosen) entries.push_back({name, as});
    check_lookups_agree(entries);
  }
}

BOOST_AUTO_TEST_SUITE_END()
