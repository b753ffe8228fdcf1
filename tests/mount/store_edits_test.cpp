// Programs change stores in directories through a mount. A separate reader checks the results of
// random edits. Programs also copy embedded leaves.

#include <cstdlib>
#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

const fs_std::path kStores = fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores";

/// A SOURCE with the store s.b2d, whose leaves are all embedded.
struct EmbeddedSource {
  EmbeddedSource() {
    fs_std::create_directory(directory / "s.b2d");
    fs_std::copy(kStores / "embed0.b2e", directory / "s.b2d/embed.b2e");
  }
  const SourceDir directory;
};

std::string setting(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(store_edits)

BOOST_AUTO_TEST_CASE(random_edits_are_stored_as_python_reads_them, *precondition(needs_fuse)) {
  ProcessSettings settings;
  settings.limit = Seconds{600};
  const SourceDir sources;
  const ProcessResult result =
      run({"python3", BLOSCFS_SOURCE_ROOT "/tests/mount/random_store_edits.py", bloscfs_program(),
           b2frame_program(), setting("BLOSCFS_STORES", kSanitized ? "3" : "10"),
           setting("BLOSCFS_SEED", "1"), "30", sources.path().string()},
          settings);
  BOOST_TEST(result.ok(), result.description() << result.out);
}

BOOST_AUTO_TEST_CASE(programs_copy_embedded_leaves_and_change_the_copies,
                     *precondition(needs_fuse)) {
  const EmbeddedSource source;
  const ByteVector embed = read_file(source.directory / "s.b2d/embed.b2e");
  Mount mount(source.directory.path());
  const auto in_mount = [&](const std::string& command) {
    const ProcessResult result =
        run({"sh", "-ec", "cd '" + mount.path().string() + "'; " + command});
    BOOST_TEST(result.ok(), command << ": " << result.description() << result.out);
  };
  in_mount("cp -a s before && diff -r s before");
  in_mount("! rm s/x12/leaf9.npy && ! rm -r s && diff -r s before");
  in_mount("! mv s/x12 s/moved && mv s other && diff -r other before && mv other s");
  in_mount("cp -r before s/copy && diff -r s/copy before && rm -r s/copy && diff -r s before");
  in_mount("rm -r before/deep1 && test ! -e before/deep1");
  mount.unmount();
  BOOST_CHECK(read_file(source.directory / "s.b2d/embed.b2e") == embed);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
