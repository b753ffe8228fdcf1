#pragma once
// Namespaces that are as another host: a network of its own, joined to ours by a pair of veth, and
// a name, "host-NUMBER".

#include <string>

#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// We may make such, and have the programs for it.
Precondition needs_own_network(boost::unit_test::test_unit_id);

/// Ends with this object, and with the last program in it.
class OwnNetwork {
 public:
  /// `number`: below 32, one for each of a program.
  explicit OwnNetwork(int number);

  /// Ours, as the programs there see it.
  std::string our_address() const { return address(1); }
  /// A script that starts `program` there.
  std::string inside(const std::string& program) const;

 private:
  std::string address(int last) const;

  const int number_;
  TempDir home_;
  Child holder_;
};

}  // namespace bloscfs::test
