#pragma once
// Runs a real object store for the tests, on free ports of the loopback. It is Ceph with one
// monitor, one OSD that keeps all data in memory, and the S3 gateway.

#include <memory>
#include <string>

#include "frame/remote/http_client.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// True if PATH has ceph and its daemons.
Precondition needs_ceph(boost::unit_test::test_unit_id);

/// The object store. It takes about 15 s to start. The destructor ends it.
class Rgw {
 public:
  static constexpr const char *kAccessKey = "TESTACCESSKEY", *kSecretKey = "test/secret+key";

  Rgw();

  std::string endpoint() const;
  int port() const { return port_; }
  /// Returns a client that signs with kAccessKey and kSecretKey.
  std::shared_ptr<frame::HttpClient> client() const;
  void make_bucket(const std::string& name) const;

 private:
  void write_settings(int monitor_port) const;
  void make_keys() const;
  void start_monitor(int port);
  void start_osd();
  void start_gateway();
  std::string path(const char* name) const { return (root_ / name).string(); }
  ProcessResult ceph(Arguments arguments) const;

  TempDir root_;
  std::string id_;  ///< of the cluster
  int port_ = 0;
  Child monitor_, osd_, gateway_;
};

/// Returns the object store of this test program. The first call starts it.
Rgw& shared_rgw();
/// Makes a new bucket in shared_rgw(), and returns its name.
std::string new_bucket();

}  // namespace bloscfs::test
