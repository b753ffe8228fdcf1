#pragma once
// Preconditions of test cases. A case whose precondition does not hold is skipped, with the reason.

#include <string>

#include <boost/test/unit_test.hpp>
#include <sys/types.h>

namespace bloscfs::test {

using Precondition = boost::test_tools::assertion_result;

/// True if the test can open /dev/fuse and may mount.
Precondition needs_fuse(boost::unit_test::test_unit_id);
/// needs_fuse, and the test runs as root.
Precondition needs_fuse_as_root(boost::unit_test::test_unit_id);
/// needs_fuse_as_root, and the user nobody may mount through fusermount3.
Precondition needs_fuse_for_nobody(boost::unit_test::test_unit_id);
/// needs_root, and the user nobody can execute the programs of the build directory.
Precondition needs_build_for_nobody(boost::unit_test::test_unit_id);
/// needs_fuse_for_nobody and needs_build_for_nobody, and the user nobody may share mounts with
/// other users (user_allow_other).
Precondition needs_fuse_for_others(boost::unit_test::test_unit_id);
/// needs_fuse, and the build has neither ASan nor TSan, which change time and memory.
Precondition needs_fuse_unsanitized(boost::unit_test::test_unit_id);

/// True if the test runs as root.
Precondition needs_root(boost::unit_test::test_unit_id);

/// True if the build has neither ASan nor TSan.
Precondition needs_plain_build(boost::unit_test::test_unit_id);

/// True if PATH has all these programs: precondition(has_programs("zsh")).
class has_programs {
 public:
  explicit has_programs(std::string names) : names_(std::move(names)) {}
  Precondition operator()(boost::unit_test::test_unit_id id) const;

 private:
  std::string names_;
};

/// needs_fuse, and PATH has all these programs: precondition(needs_programs("rsync tar")).
class needs_programs {
 public:
  explicit needs_programs(std::string names) : names_(std::move(names)) {}
  Precondition operator()(boost::unit_test::test_unit_id id) const;

 private:
  std::string names_;
};

/// needs_fuse, and a python3 that can import numpy.
Precondition needs_numpy(boost::unit_test::test_unit_id);
/// needs_fuse, and the larger corpus (corpus_root()).
Precondition needs_corpus(boost::unit_test::test_unit_id);
/// needs_fuse, and a C-Blosc2 library.
Precondition needs_fuse_and_peer(boost::unit_test::test_unit_id);
/// True if tests/peer/fetch_libblosc2.sh finds or fetches a C-Blosc2 library.
Precondition needs_peer(boost::unit_test::test_unit_id);

/// Returns a precondition that does not hold, for this reason.
Precondition skip(const std::string& reason);
/// Returns the user number of `nobody`. Tests use it as the group number, too.
uid_t nobody();

}  // namespace bloscfs::test
