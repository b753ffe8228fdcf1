#include "tests/remote/own_network.hpp"

#include <stdexcept>

#include <fmt/core.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"

namespace bloscfs::test {
namespace {

void must_do(const Arguments& arguments) {
  const ProcessResult result = run(arguments);
  if (!result.ok()) throw std::runtime_error(arguments.front() + ": " + result.description());
}

}  // namespace

Precondition needs_own_network(boost::unit_test::test_unit_id) {
  for (const char* name : {"unshare", "nsenter", "hostname", "ip"})
    if (!have_program(name)) return skip(std::string(name) + " is not installed");
  const ProcessResult tried = run({"unshare", "--net", "--uts", "ip", "link", "add", "one", "type",
                                   "veth", "peer", "name", "two"});
  if (!tried.ok()) return skip("no network namespaces: " + tried.description());
  return true;
}

OwnNetwork::OwnNetwork(int number)
    : number_(number),
      holder_({"unshare", "--net", "--uts", "sh", "-c",
               fmt::format("hostname host-{} && exec sleep infinity", number)},
              home_ / "log") {
  const std::string process = std::to_string(holder_.pid());
  const fs_std::path there = "/proc/" + process + "/ns/net";
  const auto has_its_own = [&] {
    return fs_std::read_symlink(there) != fs_std::read_symlink("/proc/self/ns/net");
  };
  if (!comes_true(has_its_own)) throw std::runtime_error("no network namespace");
  const std::string ours = fmt::format("blosc{}-{}", ::getpid() % 100'000, number_);
  must_do({"ip", "link", "add", ours, "type", "veth", "peer", "name", "out", "netns", process});
  must_do({"ip", "address", "add", address(1) + "/30", "dev", ours});
  must_do({"ip", "link", "set", ours, "up"});
  const std::string ip = inside("ip");
  must_do({ip, "address", "add", address(2) + "/30", "dev", "out"});
  must_do({ip, "link", "set", "out", "up"});
}

/// Returns an address of 10.0.0.0/8. Each network of each test process has four of its own.
std::string OwnNetwork::address(int last) const {
  return fmt::format("10.{}.{}.{}", 128 + ::getpid() / 256 % 128, ::getpid() % 256,
                     4 * number_ + last);
}

std::string OwnNetwork::inside(const std::string& program) const {
  const fs_std::path script = home_ / fs_std::path(program).filename().string();
  write_file(script, std::string_view(
                         fmt::format("#!/bin/sh\nexec nsenter --net --uts --target={} {} \"$@\"\n",
                                     holder_.pid(), program)));
  fs_std::permissions(script, fs_std::perms(0755));
  return script.string();
}

}  // namespace bloscfs::test
