// Stores that are directories, changed through a mount by programs: random edits that a reader of
// its own checks, and several programs at once.

#include <atomic>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>

#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

const fs_std::path kStores = fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores";
constexpr int kLeaves = 11;

/// A SOURCE with the store s.b2d, of whose leaves all are embedded.
struct EmbeddedSource {
  EmbeddedSource() {
    fs_std::create_directory(directory / "s.b2d");
    fs_std::copy(kStores / "embed0.b2e", directory / "s.b2d/embed.b2e");
  }
  const TempDir directory;
};

std::vector<fs_std::path> files_below(const fs_std::path& directory) {
  std::vector<fs_std::path> files;
  for (const auto& entry : fs_std::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

std::string setting(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(store_edits)

BOOST_AUTO_TEST_CASE(random_edits_are_stored_as_python_reads_them, *precondition(needs_fuse)) {
  ProcessSettings settings;
  settings.limit = Seconds{600};
  const ProcessResult result =
      run({"python3", BLOSCFS_SOURCE_ROOT "/tests/mount/random_store_edits.py", bloscfs_program(),
           b2frame_program(), setting("BLOSCFS_STORES", kSanitized ? "3" : "10"),
           setting("BLOSCFS_SEED", "1"), "30"},
          settings);
  BOOST_TEST(result.ok(), result.description() << result.out);
}

BOOST_AUTO_TEST_CASE(programs_copy_move_and_remove_them, *precondition(needs_fuse)) {
  const EmbeddedSource source;
  Mount mount(source.directory.path());
  const auto in_mount = [&](const std::string& command) {
    const ProcessResult result =
        run({"sh", "-ec", "cd '" + mount.path().string() + "'; " + command});
    BOOST_TEST(result.ok(), command << ": " << result.description() << result.out);
  };
  in_mount("cp -a s before && diff -r s before");
  in_mount("mv s/x12 s/moved && diff -r before/x12 s/moved && mv s/moved s/x12");
  in_mount(
      "mv s/deep1/temp0/leaf3.npy s/leaf3.npy && cmp s/leaf3.npy before/deep1/temp0/leaf3.npy");
  in_mount("rm -r s/deep1 && test ! -e s/deep1");
  in_mount("rsync -a before/ s/ && rm s/leaf3.npy && diff -r s before");
  in_mount("tar cf - before | tar xf - -C s && diff -r s/before before");
  in_mount("rm -r s && test ! -e s");
  BOOST_TEST(!fs_std::exists(source.directory / "s.b2d"));
}

BOOST_AUTO_TEST_CASE(programs_change_leaves_while_others_read, *precondition(needs_fuse)) {
  const EmbeddedSource source;
  Mount mount(source.directory.path());
  const std::vector<fs_std::path> leaves = files_below(mount / "s");
  BOOST_TEST_REQUIRE(leaves.size() == static_cast<std::size_t>(kLeaves));
  std::vector<ByteVector> contents;
  for (const auto& leaf : leaves) contents.push_back(read_file(leaf));
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0}, read{0};
  // The last leaves are read alone; what of the others is there, is there as a whole.
  std::thread reader([&] {
    while (!is_over)
      for (std::size_t i = 6; i < leaves.size(); i++, read++)
        if (read_file(leaves[i]) != contents[i]) wrong++;
  });
  std::vector<std::thread> writers;
  std::vector<std::string> failures(6);
  for (std::size_t i = 0; i < 6; i++)
    writers.emplace_back([&, i] {
      try {
        const fs_std::path other = leaves[i].string() + ".other";
        switch (i % 3) {
          case 0:
            fs_std::remove(leaves[i]);
            break;
          case 1:
            fs_std::rename(leaves[i], other);
            break;
          default:
            write_file(leaves[i], std::string("new"));
            break;
        }
      } catch (const std::system_error& error) {
        failures.at(i) = error.what();
      }
    });
  for (std::thread& writer : writers) writer.join();
  is_over = true;
  reader.join();
  BOOST_TEST(wrong == 0);
  for (const std::string& failure : failures) BOOST_TEST(failure.empty(), failure);
  BOOST_TEST(read > 0);
  mount.unmount();
  Mount again(source.directory.path());
  for (std::size_t i = 0; i < leaves.size(); i++) {
    const fs_std::path now = again / fs_std::relative(leaves[i], mount.path());
    if (i >= 6) {
      BOOST_CHECK(read_file(now) == contents[i]);
    } else {
      BOOST_TEST(fs_std::exists(now) == (i % 3 == 2), now);
      if (i % 3 == 1) BOOST_CHECK(read_file(now.string() + ".other") == contents[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(one_program_opens_what_another_removes, *precondition(needs_fuse)) {
  for (int round = 0; round < (kSanitized ? 5 : 20); round++) {
    const EmbeddedSource source;
    Mount mount(source.directory.path());
    const fs_std::path leaf = files_below(mount / "s").front();
    std::atomic<int> opened{0}, removed{0};
    std::thread writer([&] {
      const Fd file(::open(leaf.c_str(), O_RDWR));
      opened = file ? 0 : errno;
    });
    std::thread remover([&] { removed = ::unlink(leaf.c_str()) == 0 ? 0 : errno; });
    writer.join();
    remover.join();
    BOOST_TEST((opened == 0 || opened == ENOENT || opened == ESTALE), opened.load());
    BOOST_TEST((removed == 0 || removed == ENOENT || removed == ESTALE), removed.load());
    // What was removed, and nothing has said that it was not, is gone.
    if (removed == 0) BOOST_TEST(!fs_std::exists(leaf));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
