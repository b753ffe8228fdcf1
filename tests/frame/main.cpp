#define BOOST_TEST_MODULE frame
#include <boost/test/unit_test.hpp>
