#define BOOST_TEST_MODULE mount
#include <boost/test/unit_test.hpp>
