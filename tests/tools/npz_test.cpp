// Tests `create` with .npz files, whose arrays go into a directory or a store.

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "tests/support/contents.hpp"
#include "tests/support/npy.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;

std::string npy_file(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  std::size_t count = 1;
  for (const auto extent : shape) count *= static_cast<std::size_t>(extent);
  const ByteVector bytes = make_contents("ramp", seed, count * 4, 4);
  return npy_header("<i4", shape) + std::string(bytes.begin(), bytes.end());
}

struct ArchivePlace {
  TempDir home;
  std::string file(const std::string& name) const { return (home / name).string(); }

  /// Makes an archive with Python's zipfile, as numpy.savez() does. `entries` are names and
  /// contents.
  std::string archive(const std::vector<std::pair<std::string, std::string>>& entries,
                      bool deflated) const {
    Arguments arguments = {"python3", "-c", R"(
import sys, zipfile
method = zipfile.ZIP_DEFLATED if sys.argv[2] == "1" else zipfile.ZIP_STORED
with zipfile.ZipFile(sys.argv[1], "w", method) as archive:
    for name, file in zip(sys.argv[3::2], sys.argv[4::2]):
        with archive.open(name, "w", force_zip64=True) as member:
            member.write(open(file, "rb").read())
)",
                           file("x.npz"), deflated ? "1" : "0"};
    for (std::size_t i = 0; i < entries.size(); i++) {
      write_file(home / ("part" + std::to_string(i)), entries[i].second);
      arguments.push_back(entries[i].first);
      arguments.push_back(file("part" + std::to_string(i)));
    }
    const ProcessResult made = run(arguments);
    BOOST_TEST_REQUIRE(made.ok(), made.description());
    return file("x.npz");
  }
};

void succeeds(const Arguments& arguments) {
  const ProcessResult result = b2frame(arguments);
  BOOST_TEST(result.ok(), result.description());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_npz)

BOOST_AUTO_TEST_CASE(members_become_arrays_of_a_folder) {
  const std::string a = npy_file({300, 400}, 1), b = npy_file({5}, 2), one = npy_file({}, 3);
  for (const bool deflated : {false, true}) {
    const ArchivePlace place;
    const std::string npz =
        place.archive({{"a.npy", a}, {"b.npy", b}, {"one.npy", one}, {"note", "text"}}, deflated);
    const ProcessResult bad =
        b2frame({"create", "--block-shape", "5", npz, "-o", place.file("bad/")});
    BOOST_TEST(bad.status == 2, bad.description());
    BOOST_TEST(!fs_std::exists(place.home / "bad"));
    succeeds({"create", npz, "-o", place.file("out/")});
    BOOST_TEST((extracted(place.home / "out" / "a.b2nd", true) == a));
    BOOST_TEST((extracted(place.home / "out" / "b.b2nd", true) == b));
    BOOST_TEST((extracted(place.home / "out" / "one.b2nd", true) == one));
    BOOST_TEST(extracted(place.home / "out" / "note.b2frame") == "text");
    const ProcessResult again = b2frame({"create", npz, "-o", place.file("out/")});
    BOOST_TEST(again.status == 1);
    BOOST_TEST(again.err.find("exists, and is not replaced") != std::string::npos, again.err);
  }
}

BOOST_AUTO_TEST_CASE(members_in_fortran_order_become_arrays_of_a_folder) {
  const ByteVector bytes = make_contents("ramp", 1, 300 * 400 * 4, 4);
  const std::string npy =
      npy_header("<i4", {300, 400}, true) + std::string(bytes.begin(), bytes.end());
  const ArchivePlace place;
  succeeds({"create", place.archive({{"a.npy", npy}}, true), "-o", place.file("out") + "/"});
  BOOST_TEST((extracted(place.file("out/a.b2nd")).size()) == bytes.size());
}

BOOST_AUTO_TEST_CASE(members_become_leaves_of_a_store) {
  const ArchivePlace place;
  const std::string a = npy_file({30, 40}, 1), b = npy_file({7}, 2);
  const std::string npz = place.archive({{"a.npy", a}, {"group/b.npy", b}}, true);
  for (const std::string& store : {place.file("x.b2z"), place.file("x.b2d")}) {
    succeeds({"create", npz, "-o", store});
    BOOST_TEST(info_of(store).at("kind") == "b2tree", store);
    BOOST_TEST((extracted(store + ":/a", true) == a));
    BOOST_TEST((extracted(store + ":/group/b", true) == b));
    succeeds({"verify", store});
  }
  BOOST_TEST(b2frame({"create", "--sparse", npz, "-o", place.file("y.b2z")}).status == 2);
  succeeds({"create", "--flat", npz, "-o", place.file("y.b2frame")});
  const ProcessResult bytes = b2frame({"create", npz, "-o", place.file("no slash")});
  BOOST_TEST(bytes.ok(), bytes.description());
  BOOST_TEST(bytes.err.find("-o OUT/ or -o OUT.b2z makes arrays") != std::string::npos, bytes.err);
}

BOOST_AUTO_TEST_CASE(hostile_archives_leave_nothing) {
  const ArchivePlace place;
  const std::string a = npy_file({30, 40}, 1);
  std::vector<std::pair<std::string, ByteVector>> bad;
  const auto changed = [&](const char* name, bool deflated, const auto& change) {
    ByteVector bytes = read_file(place.archive({{"a.npy", a}, {"b.npy", a}}, deflated));
    change(bytes);
    bad.emplace_back(name, bytes);
  };
  const auto find = [](ByteVector& bytes, const std::string& text, int which) {
    auto at = bytes.begin();
    for (; which >= 0; which--)
      at = std::search(at + (at == bytes.begin() ? 0 : 1), bytes.end(), text.begin(), text.end());
    BOOST_TEST_REQUIRE((at != bytes.end()));
    return at;
  };
  changed("contents of another checksum", false,
          [&](ByteVector& bytes) { bytes[600] = static_cast<std::uint8_t>(bytes[600] + 1); });
  changed("damaged", true, [&](ByteVector& bytes) {
    std::fill(bytes.begin() + 100, bytes.begin() + 150, std::uint8_t{0xff});
  });
  changed("cut off", false, [&](ByteVector& bytes) { bytes.resize(bytes.size() / 2); });
  changed("no archive", false, [&](ByteVector& bytes) { bytes.assign(100, 'x'); });
  const std::string entry = "PK\1\2";
  changed("larger than it says", true, [&](ByteVector& bytes) { find(bytes, entry, 0)[24] ^= 1; });
  changed("encrypted", true, [&](ByteVector& bytes) {
    find(bytes, entry, 0)[8] |= 1;
    find(bytes, "PK\3\4", 0)[6] |= 1;
  });
  changed("of an unknown method", true, [&](ByteVector& bytes) {
    find(bytes, entry, 0)[10] = 12;
    find(bytes, "PK\3\4", 0)[8] = 12;
  });
  changed("of overlapping members", false, [&](ByteVector& bytes) {
    const auto first = find(bytes, entry, 0), second = find(bytes, entry, 1);
    std::copy_n(first, 46, second);  // except for the name, which has the same length
  });
  for (const char* const name : {"../a.npy", "/a.npy", "a//b.npy"}) {
    const std::string npz = place.archive({{"a.npy", a}, {name, a}}, false);
    bad.emplace_back(name, read_file(npz));
  }
  bad.emplace_back("two of one name",
                   read_file(place.archive({{"a.npy", a}, {"a", "text"}}, false)));
  bad.emplace_back("a file below a file",
                   read_file(place.archive({{"a", "text"}, {"a.b2f/b", "text"}}, false)));
  bad.emplace_back("cut off inside", read_file(place.archive({{"a.npy", a.substr(0, 900)}}, true)));
  for (const auto& [what, bytes] : bad) BOOST_TEST_CONTEXT(what) {
      write_file(place.home / "bad.npz", bytes);
      for (const char* const output : {"out/", "out.b2d", "out.b2z"}) {
        const ProcessResult result =
            b2frame({"create", place.file("bad.npz"), "-o", place.file(output)});
        const bool may_do = what == "a file below a file" && std::string(output) == "out/";
        BOOST_TEST((may_do || result.status == 1), result.description());
        BOOST_TEST((may_do || std::count(result.err.begin(), result.err.end(), '\n') == 1));
      }
      fs_std::remove_all(place.home / "out");
    }
  for (const auto& entry_of : fs_std::directory_iterator(place.home.path()))
    BOOST_TEST(!entry_of.path().filename().string().starts_with("out"), entry_of.path());
}

BOOST_AUTO_TEST_SUITE_END()
