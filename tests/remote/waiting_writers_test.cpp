// Writers to an object store wait for room in the memory for dirty contents.

#include <boost/test/unit_test.hpp>

#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/support/writer_load.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;

BOOST_AUTO_TEST_SUITE(object_writers,
                      *utf::precondition(needs_ceph) * utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(do_not_stop_the_mount) {
  for (const WriterLoad& load : std::vector<WriterLoad>{
           {1, 40, {"cache_size=16M"}},
           {12, 4, {"cache_size=16M"}},
           {40, 1, {"cache_size=4M", "chunk_size=64K"}},
           {12, 3, {"cache_size=16M"}, ".npy"},
           {12, 6, {"cache_size=64M", "chunk_size=4M"}},
       }) {
    const StorePlace place;
    ObjectMount mount(place, load.options);
    run_load(load, mount);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
