#pragma once
// Preconditions of test cases: where they do not hold the case is skipped, with the reason.

#include <string>

#include <boost/test/unit_test.hpp>
#include <sys/types.h>

namespace bloscfs::test {

using Precondition = boost::test_tools::assertion_result;

/// /dev/fuse can be opened and mounting is permitted.
Precondition needs_fuse(boost::unit_test::test_unit_id);
/// The same, and we are root.
Precondition needs_fuse_as_root(boost::unit_test::test_unit_id);
/// The same, and the user nobody may mount through fusermount3.
Precondition needs_fuse_for_nobody(boost::unit_test::test_unit_id);
/// The same, we are root, and that user may let others into his mount.
Precondition needs_fuse_for_others(boost::unit_test::test_unit_id);
/// needs_fuse, and neither ASan nor TSan, which change time and memory.
Precondition needs_fuse_unsanitized(boost::unit_test::test_unit_id);

/// We are root.
Precondition needs_root(boost::unit_test::test_unit_id);

/// Neither ASan nor TSan.
Precondition needs_plain_build(boost::unit_test::test_unit_id);

/// All these programs in PATH: precondition(has_programs("zsh")).
class has_programs {
 public:
  explicit has_programs(std::string names) : names_(std::move(names)) {}
  Precondition operator()(boost::unit_test::test_unit_id id) const;

 private:
  std::string names_;
};

/// needs_fuse, and all these programs in PATH: precondition(needs_programs("rsync tar")).
class needs_programs {
 public:
  explicit needs_programs(std::string names) : names_(std::move(names)) {}
  Precondition operator()(boost::unit_test::test_unit_id id) const;

 private:
  std::string names_;
};

/// needs_fuse, and a python3 that imports numpy.
Precondition needs_numpy(boost::unit_test::test_unit_id);
/// needs_fuse, and the reference corpus (BLOSCFS_CORPUS, or shared/corpus beside the source root).
Precondition needs_corpus(boost::unit_test::test_unit_id);
/// needs_fuse, and a C-Blosc2 library.
Precondition needs_fuse_and_peer(boost::unit_test::test_unit_id);
/// A C-Blosc2 library; see tests/peer/fetch_libblosc2.sh.
Precondition needs_peer(boost::unit_test::test_unit_id);

/// A reason to skip.
Precondition skip(const std::string& reason);
/// User and group number of `nobody`.
uid_t nobody();

}  // namespace bloscfs::test
