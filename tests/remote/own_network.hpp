#pragma once
// Plays another host by means of namespaces: a network of its own, which a veth pair joins to the
// test's network, and the host name "host-NUMBER".

#include <string>

#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// True if the test may make such namespaces, and PATH has the programs for it.
Precondition needs_own_network(boost::unit_test::test_unit_id);

/// The namespaces. They last until this object and the last program in them have ended.
class OwnNetwork {
 public:
  /// `number` is below 32, and differs for each object of the test program.
  explicit OwnNetwork(int number);

  /// Returns the address at which programs in the namespaces reach the test.
  std::string our_address() const { return address(1); }
  /// Returns the path of a script that runs `program` in the namespaces.
  std::string inside(const std::string& program) const;

 private:
  std::string address(int last) const;

  const int number_;
  TempDir home_;
  Child holder_;
};

}  // namespace bloscfs::test
