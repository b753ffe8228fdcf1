// Random operations on a mount of files without a kernel.

#include "tests/fs/mount/random_files.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/temp_dir.hpp"

BOOST_AUTO_TEST_SUITE(random_files_in_process)

BOOST_AUTO_TEST_CASE(files_are_what_was_written_to_them) {
  using namespace bloscfs::test;
  constexpr int kSteps = 150;
  for (const char* const options : {"", "dirty_limit=1M", "clevel=1,codec=lz4"})
    for (std::uint64_t seed = 1; seed <= 4; seed++)
      BOOST_TEST_CONTEXT("options " << options << ", seed " << seed) {
        const TempDir source;
        fs_std::create_directory(source / "d");
        RandomFiles files(seed);
        // The next mount must find what this one has committed.
        for (int round = 0; round < 2; round++) {
          InProcess mount(source.path(), options);
          files.compare(mount);
          for (int i = 0; i < kSteps; i++) files.step(mount);
          files.compare(mount);
          files.close_all();
          mount.end();
        }
      }
}

BOOST_AUTO_TEST_SUITE_END()
