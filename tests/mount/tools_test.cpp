// Ordinary tools copy files out of a mount.

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kToolsChunk = 65536;

/// A mounted tree of frames and other files.
struct Tree {
  Tree() : text(make_contents("text", 1, 700000, 1)), sparse(40 * kToolsChunk, 0) {
    sparse[3 * kToolsChunk] = 1;
    Cut cut;
    cut.vlmetalayers = {{"note", bytes_of("kept")}};
    fs_std::create_directory(source / "sub");
    write_file(source / "text.b2frame", flat_frame(text, cut));
    write_file(source / "sparse.b2frame", flat_frame(sparse));
    write_file(source / "sub/t.b2nd", array_frame(ByteVector(60, 7), {3, 5}, "<i4", 4));
    write_sparse_frame(source / "sub/s.b2frame", text);
    write_file(source / "plain", "plain");
    fs_std::create_symlink("plain", source / "link");
    mount = std::make_unique<Mount>(source.path());
  }

  void check_copy(const fs_std::path& copy) const {
    BOOST_CHECK(read_file(copy / "text") == text);
    BOOST_CHECK(read_file(copy / "sparse") == sparse);
    BOOST_CHECK(read_file(copy / "sub/s") == text);
    BOOST_CHECK(read_file(copy / "plain") == bytes_of("plain"));
    BOOST_TEST(fs_std::read_symlink(copy / "link").string() == "plain");
    const std::string npy = npy_header("<i4", {3, 5}) + std::string(60, 7);
    BOOST_CHECK(read_file(copy / "sub/t.npy") == bytes_of(npy));
  }

  void check_attributes(const fs_std::path& copy) const {
    BOOST_CHECK(get_xattr(copy / "text", "user.blosc2.vlmeta.note") == "kept");
    BOOST_CHECK(!get_xattr(copy / "text", "user.blosc2.nbytes"));
  }

  TempDir source;
  ByteVector text, sparse;
  std::unique_ptr<Mount> mount;
};

std::int64_t blocks_of(const fs_std::path& path) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0) throw_errno("stat");
  return st.st_blocks;
}

bool temporary_files_take_attributes() {
  const TempDir scratch;
  write_file(scratch / "a", "");
  return errno_of_set_xattr(scratch / "a", "user.x", "y") == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ordinary_tools)

BOOST_AUTO_TEST_CASE(rsync_copies_with_attributes, *precondition(needs_programs("rsync"))) {
  const Tree tree;
  const TempDir copy;
  const bool attributes = temporary_files_take_attributes();
  const auto result = run({"rsync", attributes ? "-aX" : "-a", tree.mount->path().string() + "/",
                           copy.path().string()});
  BOOST_TEST(result.ok(), result.description());
  tree.check_copy(copy.path());
  if (attributes) tree.check_attributes(copy.path());
  const auto again =
      run({"rsync", "-ani", tree.mount->path().string() + "/", copy.path().string()});
  BOOST_TEST(again.out.find(">f") == std::string::npos, "copies again: " << again.out);
}

BOOST_AUTO_TEST_CASE(tar_archives_with_attributes, *precondition(needs_programs("tar"))) {
  const Tree tree;
  const TempDir copy;
  const auto packed = run({"tar", "--xattrs", "--xattrs-include=user.*", "-cf",
                           (copy / "all.tar").string(), "-C", tree.mount->path().string(), "."});
  BOOST_TEST(packed.ok(), packed.description());
  const auto unpacked = run({"tar", "--xattrs", "--xattrs-include=user.*", "-xf",
                             (copy / "all.tar").string(), "-C", copy.path().string()});
  BOOST_TEST(unpacked.ok(), unpacked.description());
  tree.check_copy(copy.path());
  if (temporary_files_take_attributes()) tree.check_attributes(copy.path());
}

BOOST_AUTO_TEST_CASE(cp_keeps_holes, *precondition(needs_programs("cp"))) {
  const Tree tree;
  const TempDir copy;
  const auto result = run(
      {"cp", "-a", "--sparse=always", tree.mount->path().string() + "/.", copy.path().string()});
  BOOST_TEST(result.ok(), result.description());
  tree.check_copy(copy.path());
  BOOST_TEST(blocks_of(copy / "sparse") * 512 <= static_cast<std::int64_t>(4 * kToolsChunk));
}

BOOST_AUTO_TEST_CASE(du_tells_stored_and_shown_sizes, *precondition(needs_programs("du"))) {
  const Tree tree;
  const auto number = [&tree](const char* option) {
    const auto result = run({"du", option, "--block-size=1", (*tree.mount / "sparse").string()});
    BOOST_TEST(result.ok(), result.description());
    return std::stoll(result.out);
  };
  BOOST_TEST(number("--apparent-size") == static_cast<std::int64_t>(tree.sparse.size()));
  BOOST_TEST(number("-s") <= 16384);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
