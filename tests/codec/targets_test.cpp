#include <cstdint>

#include <boost/test/unit_test.hpp>
#include <dlfcn.h>
#include <hwy/highway.h>

#include "codec/filter/highest_target.hpp"

BOOST_AUTO_TEST_SUITE(targets)

BOOST_AUTO_TEST_CASE(targets_are_those_that_the_library_finds) {
  void* library = ::dlopen("libhwy.so", RTLD_NOW);
  BOOST_REQUIRE_MESSAGE(library != nullptr, ::dlerror());
  using Find = std::int64_t();
  const auto find = reinterpret_cast<Find*>(::dlsym(library, "_ZN3hwy16SupportedTargetsEv"));
  BOOST_REQUIRE(find != nullptr);
  constexpr std::int64_t kMade = HWY_TARGETS & ~std::int64_t{BLOSCFS_ABOVE_AVX3};
  BOOST_TEST((hwy::SupportedTargets() & kMade) == (find() & kMade));
}

BOOST_AUTO_TEST_SUITE_END()
