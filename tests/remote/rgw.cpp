#include "tests/remote/rgw.hpp"

#include <fstream>
#include <sstream>

#include <fmt/core.h>

#include "frame/remote/s3_signer.hpp"
#include "tests/remote/scripted_server.hpp"
#include "tests/support/comes_true.hpp"

namespace bloscfs::test {
namespace {

void must_have_run(const Arguments& arguments) {
  const ProcessResult result = run(arguments);
  if (!result.ok()) throw std::runtime_error(arguments.front() + ": " + result.description());
}

/// Returns settings that end Ceph's daemons together with the test program. Otherwise they would
/// run for ever if the program is killed.
ProcessSettings with_this_program() {
  ProcessSettings settings;
  settings.ends_with_us = true;
  return settings;
}

std::string new_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/uuid"), id);
  return id;
}

}  // namespace

Precondition needs_ceph(boost::unit_test::test_unit_id) {
  for (const char* name :
       {"ceph", "ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "ceph-authtool", "monmaptool"})
    if (!have_program(name)) return skip(std::string(name) + " is not installed");
  return true;
}

Rgw::Rgw() : id_(new_id()), port_(free_port()) {
  for (const char* name : {"mon", "osd", "gateway", "run"}) fs_std::create_directory(root_ / name);
  const int monitor_port = free_port();
  write_settings(monitor_port);
  make_keys();
  start_monitor(monitor_port);
  start_osd();
  start_gateway();
}

void Rgw::write_settings(int monitor_port) const {
  std::string text = fmt::format(
      "[global]\nfsid = {}\nmon host = [v2:127.0.0.1:{}/0]\npublic addr = 127.0.0.1\n"
      "keyring = {}\nmon data = {}\nosd data = {}\nrgw data = {}\nrun dir = {}\n"
      // Without tcp_nodelay, each answer waits 40 ms for an acknowledgement.
      "rgw frontends = beast endpoint=127.0.0.1:{} tcp_nodelay=1\n",
      id_, monitor_port, path("keyring"), path("mon"), path("osd"), path("gateway"), path("run"),
      port_);
  text += fmt::format("log file = {}/$name.log\n", path("run"));
  text +=
      "admin socket =\npid file =\nlog to stderr = false\nerr to stderr = false\n"
      // The settings for one host with one disk.
      "osd crush chooseleaf type = 0\nmon allow pool size one = true\n"
      "osd pool default size = 1\nosd pool default min size = 1\n"
      "osd pool default pg num = 1\nosd pool default pgp num = 1\n"
      "mon initial members = a\nmon data avail warn = 0\nmon data avail crit = 0\n"
      "osd objectstore = memstore\nmemstore device bytes = 4294967296\n"
      "osd op num shards = 1\nosd op num threads per shard = 1\n"
      "rgw thread pool size = 32\nrgw enable apis = s3\nrgw enable usage log = false\n"
      "rgw enable gc threads = false\nrgw enable lc threads = false\n"
      "rgw enable quota threads = false\nrgw run sync thread = false\n";
  write_file(root_ / "ceph.conf", std::string_view(text));
}

void Rgw::make_keys() const {
  // Without cephx keys, the gateway waits for ever.
  const std::string all = "allow *";
  must_have_run({"ceph-authtool", "--create-keyring", path("keyring"), "--gen-key", "-n", "mon.",
                 "--cap", "mon", all});
  for (const auto& [name, monitor] : std::vector<std::pair<std::string, std::string>>{
           {"client.admin", all}, {"osd.0", "allow profile osd"}, {"client.gateway", all}})
    must_have_run({"ceph-authtool", path("keyring"), "--gen-key", "-n", name, "--cap", "mon",
                   monitor, "--cap", "osd", all});
}

ProcessResult Rgw::ceph(Arguments arguments) const {
  arguments.insert(arguments.begin(), {"ceph", "-c", path("ceph.conf"), "--connect-timeout", "20"});
  ProcessResult result = run(arguments);
  if (!result.ok()) throw std::runtime_error("ceph: " + result.description());
  return result;
}

void Rgw::start_monitor(int port) {
  must_have_run({"monmaptool", "--create", "--addv", "a", fmt::format("[v2:127.0.0.1:{}]", port),
                 "--fsid", id_, path("monmap")});
  must_have_run({"ceph-mon", "-c", path("ceph.conf"), "-i", "a", "--mkfs", "--monmap",
                 path("monmap"), "--keyring", path("keyring")});
  monitor_ = Child({"ceph-mon", "-c", path("ceph.conf"), "-i", "a", "-f"}, path("run/mon.out"),
                   with_this_program());
}

void Rgw::start_osd() {
  const std::string id = new_id();
  ceph({"osd", "new", id});
  must_have_run({"ceph-osd", "-c", path("ceph.conf"), "-i", "0", "--mkfs", "--osd-uuid", id});
  osd_ = Child({"ceph-osd", "-c", path("ceph.conf"), "-i", "0", "-f"}, path("run/osd.out"),
               with_this_program());
}

void Rgw::start_gateway() {
  gateway_ = Child({"radosgw", "-c", path("ceph.conf"), "-n", "client.gateway", "-f"},
                   path("run/gateway.out"), with_this_program());
  const std::string probe = fmt::format("exec 3<>/dev/tcp/127.0.0.1/{}", port_);
  const auto answers = [&] { return run({"bash", "-c", probe}).ok() || !gateway_.running(); };
  comes_true(answers, std::chrono::seconds(90));
  if (!gateway_.running()) throw std::runtime_error("radosgw does not start");
  must_have_run({"radosgw-admin", "-c", path("ceph.conf"), "-n", "client.gateway", "user", "create",
                 "--uid=test", "--display-name=test", std::string("--access-key=") + kAccessKey,
                 std::string("--secret-key=") + kSecretKey});
}

std::string Rgw::endpoint() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::shared_ptr<frame::HttpClient> Rgw::client() const {
  frame::HttpSettings settings;
  settings.signer = std::make_shared<frame::S3Signer>(
      frame::S3Credentials{kAccessKey, kSecretKey, {}}, "us-east-1");
  return std::make_shared<frame::HttpClient>(std::move(settings));
}

void Rgw::make_bucket(const std::string& name) const {
  frame::WebRequest request;
  request.method = frame::HttpMethod::put;
  request.place.url = frame::parse_url(endpoint() + "/" + name);
  client()->send(std::move(request)).wait();
}

Rgw& shared_rgw() {
  static Rgw one;
  return one;
}

std::string new_bucket() {
  static int count = 0;
  const std::string name = "bucket-" + std::to_string(++count);
  shared_rgw().make_bucket(name);
  return name;
}

}  // namespace bloscfs::test
