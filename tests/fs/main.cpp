#define BOOST_TEST_MODULE fs
#include <boost/test/unit_test.hpp>
