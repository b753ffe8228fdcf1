// NPY files in Fortran order in a mount. They are stored as arrays in C order, and shown as they
// were written.

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

const std::vector<std::int64_t> kShape = {50, 40, 3, 30};

ByteVector npy_file() {
  const std::string header = npy_header("<i4", kShape, true);
  ByteVector file(header.begin(), header.end());
  const ByteVector elements = make_contents("ramp", 1, std::size_t{50} * 40 * 3 * 30 * 4, 4);
  file.insert(file.end(), elements.begin(), elements.end());
  return file;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fortran_order)

BOOST_AUTO_TEST_CASE(is_kept_by_an_array, *precondition(needs_fuse)) {
  const SourceDir source;
  ByteVector bytes = npy_file();
  {
    Mount mount(source.path());
    write_file(mount / "a.npy", bytes);
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  BOOST_TEST_REQUIRE(fs_std::exists(source / "a.b2nd"));
  {
    Mount mount(source.path());
    BOOST_CHECK(read_file(mount / "a.npy") == bytes);
    BOOST_TEST(get_xattr(mount / "a.npy", "user.blosc2.shape").value() == "50,40,3,30");
    BOOST_TEST(errno_of_set_xattr(mount / "a.npy", "user.blosc2.meta.bloscfs.order", "x") == EPERM);
    Fd file(open((mount / "a.npy").c_str(), O_RDWR | O_CLOEXEC));
    for (const std::size_t at : {std::size_t{500}, std::size_t{300'001}, bytes.size() - 7}) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), 7, std::uint8_t{0xEE});
      BOOST_TEST(pwrite(file.get(), &bytes[at], 7, static_cast<off_t>(at)) == 7);
    }
    BOOST_TEST(fsync(file.get()) == 0);
    ByteVector part(100'000);
    BOOST_TEST(pread(file.get(), part.data(), part.size(), 250'003) == std::ssize(part));
    BOOST_CHECK(std::equal(part.begin(), part.end(), bytes.begin() + 250'003));
    file = Fd();
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  BOOST_TEST(fs_std::exists(source / "a.b2nd"));
  const Mount again(source.path());
  BOOST_CHECK(read_file(again / "a.npy") == bytes);
}

BOOST_AUTO_TEST_CASE(of_an_array_that_becomes_flat_goes_with_it, *precondition(needs_fuse)) {
  const SourceDir source;
  const ByteVector bytes = npy_file();
  ByteVector shorter = bytes;
  shorter.resize(bytes.size() / 2);
  {
    Mount mount(source.path());
    write_file(mount / "a.npy", bytes);
    write_file(mount / "b.npy", bytes);
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  {
    Mount mount(source.path());
    BOOST_TEST(truncate((mount / "a.npy").c_str(), std::ssize(shorter)) == 0);
    fs_std::rename(mount / "b.npy", mount / "b");
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  const Mount mount(source.path());
  BOOST_CHECK(read_file(mount / "a.npy") == shorter);
  BOOST_CHECK(read_file(mount / "b") == bytes);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
