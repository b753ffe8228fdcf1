#pragma once
// A real object store of the test's own: Ceph with one monitor, one OSD that keeps all in memory,
// and the gateway that speaks S3, on free ports of the loopback.

#include <memory>
#include <string>

#include "frame/remote/http_client.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// ceph and its daemons are in PATH.
Precondition needs_ceph(boost::unit_test::test_unit_id);

/// Takes some 15 s to start, and ends with this object.
class Rgw {
 public:
  static constexpr const char *kAccessKey = "TESTACCESSKEY", *kSecretKey = "test/secret+key";

  Rgw();

  std::string endpoint() const;
  int port() const { return port_; }
  /// A client that signs with these keys.
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

/// The one of this program, which starts with the first call.
Rgw& shared_rgw();
/// Makes a bucket there that nobody else uses; returns its name.
std::string new_bucket();

}  // namespace bloscfs::test
