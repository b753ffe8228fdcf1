// Mounts frames that python-blosc2's save_array() and save_tensor() have written.

#include "tests/support/packed_tensor.hpp"

#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kItems = 60'000;

ByteVector elements() { return make_contents("ramp", 1, 4 * kItems, 4); }

ByteVector npy_file(const ByteVector& contents, const std::vector<std::int64_t>& shape) {
  const std::string header = npy_header("<i4", shape);
  ByteVector file(header.begin(), header.end());
  file.insert(file.end(), contents.begin(), contents.end());
  return file;
}

ByteVector npy_file() { return npy_file(elements(), {kItems / 100, 100}); }

void write_tensor(const fs_std::path& path) {
  write_file(path, tensor_frame(elements(), {kItems / 100, 100}, "<i4"));
}

bool holds(const fs_std::path& frame, const std::string& name) {
  const ByteVector bytes = read_file(frame);
  return std::search(bytes.begin(), bytes.end(), name.begin(), name.end()) != bytes.end();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(packed_tensor)

BOOST_AUTO_TEST_CASE(is_shown_as_a_npy_file, *precondition(needs_fuse)) {
  const SourceDir source;
  write_tensor(source / "a.b2frame");
  write_tensor(source / "b.bl2");
  const Mount mount(source.path());
  BOOST_CHECK(read_file(mount / "a.npy") == npy_file());
  BOOST_CHECK(read_file(mount / "b.bl2.npy") == npy_file());
  BOOST_TEST(get_xattr(mount / "a.npy", "user.blosc2.shape").value() == "600,100");
  BOOST_TEST(get_xattr(mount / "a.npy", "user.blosc2.dtype").value() == "<i4");
  MountSettings raw;
  raw.options = {"raw", "ro"};
  const Mount alone(source.path(), raw);
  BOOST_CHECK(read_file(alone / "a") == elements());
}

BOOST_AUTO_TEST_CASE(that_does_not_fit_its_frame_is_flat, *precondition(needs_fuse)) {
  const SourceDir source;
  using nlohmann::json;
  const ByteVector contents(48, 7);
  const std::vector<std::pair<json, json>> bad = {{{3, 5}, "<i4"},
                                                  {{3, 4}, "<i8"},
                                                  {{3, 4}, "|O"},
                                                  {{12}, "no dtype"},
                                                  {{12}, 4},
                                                  {{-12}, "<i4"},
                                                  {{12.0}, "<i4"},
                                                  {{0}, "<i4"},
                                                  {{"12"}, "<i4"},
                                                  {{1ULL << 62, 1ULL << 62, 16}, "<i4"},
                                                  {{~0ULL}, "<i4"},
                                                  {json(std::vector<int>(3000, 1)), "<i4"},
                                                  {json(std::vector<int>(40, 1)), "|S48"}};
  for (std::size_t i = 0; i < bad.size(); i++)
    write_file(source / (std::to_string(i) + ".b2frame"),
               tensor_frame(contents, bad[i].first, bad[i].second));
  Cut cut;
  cut.vlmetalayers = {{"__pack_tensor__", {0xdd, 0xff, 0xff, 0xff, 0xff}}};
  write_file(source / "broken.b2frame", flat_frame(contents, cut));
  Mount mount(source.path());
  for (std::size_t i = 0; i < bad.size(); i++)
    BOOST_TEST_CONTEXT(i) BOOST_CHECK(read_file(mount / std::to_string(i)) == contents);
  BOOST_CHECK(read_file(mount / "broken") == contents);
  BOOST_TEST(mount.running());
}

BOOST_AUTO_TEST_CASE(keeps_its_frame_when_elements_are_edited, *precondition(needs_fuse)) {
  const SourceDir source;
  write_tensor(source / "a.b2frame");
  ByteVector wanted = npy_file();
  const auto header = wanted.size() - 4 * kItems;
  {
    Mount mount(source.path());
    Fd file(open((mount / "a.npy").c_str(), O_RDWR | O_CLOEXEC));
    // At the start, across a border of the 64 KiB chunks, and at the end.
    for (const std::size_t at : {header, header + 65534, wanted.size() - 4}) {
      std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(at), 4, std::uint8_t{0xEE});
      BOOST_TEST(pwrite(file.get(), &wanted[at], 4, static_cast<off_t>(at)) == 4);
    }
    BOOST_TEST(fsync(file.get()) == 0);
    file = Fd();
    BOOST_CHECK(read_file(mount / "a.npy") == wanted);
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  BOOST_TEST(holds(source / "a.b2frame", "__pack_tensor__"));
  const Mount again(source.path());
  BOOST_CHECK(read_file(again / "a.npy") == wanted);
}

BOOST_AUTO_TEST_CASE(written_anew_is_what_its_bytes_are, *precondition(needs_fuse)) {
  const SourceDir source;
  for (const char* const name : {"same", "shorter", "other", "renamed"})
    write_tensor(source / (std::string(name) + ".b2frame"));
  ByteVector changed = npy_file();
  std::reverse(changed.begin() + 1000, changed.end());
  const ByteVector other = npy_file(ByteVector(40, 1), {10});
  {
    Mount mount(source.path());
    write_file(mount / "same.npy", changed);
    BOOST_TEST(truncate((mount / "shorter.npy").c_str(), 100'000) == 0);
    write_file(mount / "other.npy", other);
    fs_std::rename(mount / "renamed.npy", mount / "renamed");
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  for (const char* const name : {"shorter", "other", "renamed"})
    for (const auto& entry : fs_std::directory_iterator(source.path()))
      if (entry.path().filename().string().starts_with(name))
        BOOST_TEST(!holds(entry.path(), "__pack_tensor__"), entry.path());
  Mount mount(source.path());
  BOOST_CHECK(read_file(mount / "same.npy") == changed);
  ByteVector start = npy_file();
  start.resize(100'000);
  BOOST_CHECK(read_file(mount / "shorter.npy") == start);
  BOOST_CHECK(read_file(mount / "other.npy") == other);
  BOOST_CHECK(read_file(mount / "renamed") == npy_file());
}

BOOST_AUTO_TEST_CASE(cannot_be_made_of_a_frame_by_its_attribute, *precondition(needs_fuse)) {
  const SourceDir source;
  write_tensor(source / "a.b2frame");
  const Mount mount(source.path());
  const fs_std::path file = mount / "a.npy";
  const std::string name = "user.blosc2.vlmeta.__pack_tensor__";
  BOOST_TEST(get_xattr(file, name).has_value());
  BOOST_TEST(!list_xattrs(file).contains(name));
  BOOST_TEST(errno_of_set_xattr(file, name, "x") == EPERM);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
