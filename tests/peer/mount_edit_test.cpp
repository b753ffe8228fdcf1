// C-Blosc2 reads frames that were changed through a mount.

#include <algorithm>
#include <deque>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "tests/peer/created_frame.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr int kSequences = kSanitized ? 60 : 200;
constexpr int kEdits = 12;

/// A file in the mount, and the bytes that it must have.
class EditedFile {
 public:
  /// The size of an array and its first `header` bytes stay unchanged.
  EditedFile(const fs_std::path& path, ByteVector contents, std::size_t header)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)),
        contents_(std::move(contents)),
        header_(header) {
    if (!fd_) throw_errno("open " + path.string());
  }

  void edit(Random& random) {
    const int what = between(random, 0, 9);
    if (what == 0)
      check(fsync(fd_.get()), "fsync");
    else if (what <= 2)
      clear(random);
    else if (what == 3 && header_ == 0)
      resize(between(random, 0, 2 * size()));
    else
      overwrite(random);
  }

  const ByteVector& contents() const { return contents_; }
  std::size_t header() const { return header_; }

 private:
  static void check(int result, const char* what) {
    if (result != 0) throw_errno(what);
  }
  std::int64_t size() const { return std::ssize(contents_); }
  std::int64_t offset(Random& random) const {
    return between(random, static_cast<std::int64_t>(header_), size());
  }

  void overwrite(Random& random) {
    const std::int64_t begin = offset(random);
    std::int64_t length = between(random, 1, 30000);
    if (header_ != 0) length = std::min(length, size() - begin);
    const auto bytes = make_contents(one_in(random, 2) ? "noise" : "text", random(),
                                     static_cast<std::size_t>(length), 1);
    if (pwrite(fd_.get(), bytes.data(), bytes.size(), begin) != std::ssize(bytes))
      throw_errno("pwrite");
    contents_.resize(static_cast<std::size_t>(std::max(size(), begin + length)));
    std::copy(bytes.begin(), bytes.end(), contents_.begin() + begin);
  }
  void clear(Random& random) {
    const std::int64_t begin = offset(random);
    const std::int64_t length = between(random, 1, 100000);
    check(fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, length), "punch");
    std::fill(contents_.begin() + begin, contents_.begin() + std::min(size(), begin + length),
              std::uint8_t{0});
  }
  void resize(std::int64_t size) {
    check(ftruncate(fd_.get(), size), "ftruncate");
    contents_.resize(static_cast<std::size_t>(size));
  }

  const Fd fd_;
  ByteVector contents_;
  const std::size_t header_;
};

/// A frame that exists before the mount: a flat one of either kind, an array, or none.
struct Beginning {
  fs_std::path stored, shown;  ///< names
  ByteVector contents;
  std::size_t header = 0;
};

Beginning begin_frame(std::mt19937_64& random, const fs_std::path& source, int number) {
  const std::string stem = "f" + std::to_string(number);
  if (number % 4 == 0) return {stem + ".b2frame", stem, {}, 0};
  const Creation creation = creation_for_peer(random, number % 4 == 1);
  const std::string suffix = creation.is_array ? ".b2nd" : ".b2frame";
  create_frame(creation, source / (stem + suffix), source / "input");
  return {stem + suffix, stem + (creation.is_array ? ".npy" : ""), creation.input,
          creation.input.size() - contents_in_frame(creation).size()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(peer_reading_edited_frames)

BOOST_AUTO_TEST_CASE(blosc2_reads_what_was_changed_in_a_mount, *precondition(needs_fuse_and_peer)) {
  const std::uint64_t seed = creation_seed();
  std::mt19937_64 random(seed);
  const TempDir source, out;
  std::vector<Beginning> beginnings;
  for (int i = 0; i < kSequences; ++i) beginnings.push_back(begin_frame(random, source.path(), i));
  fs_std::remove(source / "input");
  std::deque<EditedFile> files;
  Mount mount(source.path());
  for (Beginning& one : beginnings)
    files.emplace_back(mount / one.shown, std::move(one.contents), one.header);
  for (int i = 0; i < kEdits * kSequences; ++i)
    files[static_cast<std::size_t>(between(random, 0, kSequences - 1))].edit(random);
  std::vector<ByteVector> expected;
  for (const EditedFile& file : files)
    expected.emplace_back(file.contents().begin() + static_cast<std::ptrdiff_t>(file.header()),
                          file.contents().end());
  files.clear();
  const auto result = mount.unmount();
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  for (std::size_t i = 0; i < beginnings.size(); ++i) BOOST_TEST_CONTEXT("seed " << seed) {
      try {
        read_by_peer(source.path() / beginnings[i].stored, out / "items");
        BOOST_TEST((read_file(out / "items") == expected[i]), beginnings[i].stored);
      } catch (const std::runtime_error& error) {
        BOOST_ERROR(beginnings[i].stored << ": " << error.what());
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
