// The main() function of every test program.

#include <iostream>

#include <boost/test/tree/observer.hpp>
#include <boost/test/unit_test.hpp>

namespace {

/// Says which cases were skipped and why. Boost.Test alone says that only at log level test_suite.
class SkippedCases final : public boost::unit_test::test_observer {
  void test_unit_skipped(const boost::unit_test::test_unit& unit,
                         boost::unit_test::const_string reason) override {
    if (reason != "disabled")  // by --run_test
      std::cerr << "skipped: " << unit.full_name() << ": " << reason << '\n';
  }
  /// Behind the observers of Boost.Test, which begin with the one that notes failures of the setup.
  int priority() override { return 10; }
};

SkippedCases skipped_cases;

bool initialize() {
  boost::unit_test::framework::register_observer(skipped_cases);
  return true;
}

}  // namespace

int main(int argc, char** argv) { return boost::unit_test::unit_test_main(initialize, argc, argv); }
