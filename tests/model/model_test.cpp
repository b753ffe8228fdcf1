// Random operations on a mount must do the same as in a plain directory, and none may be lost.
//
// BLOSCFS_MODEL_OPERATIONS is the number of all operations. BLOSCFS_MODEL_SEED repeats a run. The
// report of a difference has the seed of its sequence, which repeats that sequence alone:
//   BLOSCFS_MODEL_SEED=SEED BLOSCFS_MODEL_OPERATIONS=4000 test_model --run_test=model/VARIANT

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "tests/model/sequence.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

void run_variant(const Variant& variant) {
  const RunSize size = run_size();
  Counts counts;
  std::uint64_t seed = size.seed;
  for (std::uint64_t done = 0; done < size.operations; done += kSequenceLength, ++seed) {
    try {
      add_counts(counts,
                 run_sequence(variant, seed, std::min(kSequenceLength, size.operations - done)));
    } catch (const Difference& difference) {
      BOOST_FAIL(variant.name << ", seed " << seed << ": " << difference.what());
    }
  }
  print_counts(variant.name, counts);
  require_all_kinds(variant.kinds, counts);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(model)

BOOST_AUTO_TEST_CASE(contiguous_frame_behaves_as_a_file, *precondition(needs_fuse)) {
  run_variant(one_contiguous_frame());
}

BOOST_AUTO_TEST_CASE(sparse_frame_behaves_as_a_file, *precondition(needs_fuse)) {
  run_variant(one_sparse_frame());
}

BOOST_AUTO_TEST_CASE(tree_behaves_as_a_directory, *precondition(needs_fuse)) {
  run_variant(tree_of_plain_names());
}

BOOST_AUTO_TEST_CASE(tree_of_arrays_behaves_as_a_directory, *precondition(needs_fuse)) {
  run_variant(tree_with_npy_names());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
