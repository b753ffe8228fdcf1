// bloscfs as a service: its messages to the service manager, and how it starts again after a crash.

#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

#include <boost/algorithm/string/case_conv.hpp>
#include <boost/test/unit_test.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "frame/store/byte_source.hpp"
#include "fs/options/options.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/temp_dir.hpp"

namespace {

using namespace bloscfs::test;
using bloscfs::frame::UniqueFd;

/// The socket on which a service manager would listen.
class Listener {
 public:
  /// A `name` that begins with "@" is an abstract address.
  explicit Listener(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    const bool is_abstract = name.starts_with('@');
    if (is_abstract) address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() +
                                               (is_abstract ? 0 : 1));
    BOOST_REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
  }

  /// Returns the next message, or an empty string after a timeout.
  std::string next() const {
    constexpr int kTimeout = 20'000;  // in ms
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kTimeout) != 1) return "";
    std::string message(4096, '\0');
    const ssize_t got = ::recv(socket_.get(), message.data(), message.size(), 0);
    message.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return message;
  }

 private:
  UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

/// Returns the unit file, with the path of the built program.
std::string unit_text() {
  std::ifstream stream(fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) /
                       "tools/packaging/systemd/bloscfs@.service.in");
  std::string unit{std::istreambuf_iterator<char>(stream), {}};
  const std::string program = "@bindir@/bloscfs";
  BOOST_REQUIRE(unit.find(program) != std::string::npos);
  return unit.replace(unit.find(program), program.size(), bloscfs_program());
}

/// Returns the capabilities that the unit allows, in the form that setpriv(1) expects.
std::string bounding_set() {
  std::string set = "-all";
  std::istringstream unit(unit_text());
  const std::string key = "CapabilityBoundingSet=";
  for (std::string line; std::getline(unit, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream names(line.substr(key.size()));
    for (std::string name; names >> name;) {
      boost::algorithm::to_lower(name);
      set += ",+" + name.substr(std::string("cap_").size());
    }
  }
  return set;
}

class Home {
 public:
  Home() {
    create_directory(source());
    std::ofstream(source() / "note") << "read me";
  }
  fs_std::path source() const { return directory_ / "source"; }
  std::string operator/(const std::string& name) const { return (directory_ / name).string(); }

 private:
  TempDir directory_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(service)

BOOST_AUTO_TEST_CASE(says_when_the_mount_works_and_when_it_ends,
                     *boost::unit_test::precondition(needs_fuse)) {
  const Home home;
  const std::string abstract = "@bloscfs-test-" + std::to_string(::getpid());
  for (const std::string& name : {home / "notify", abstract}) {
    const Listener manager(name);
    MountSettings settings;
    settings.environment = {"NOTIFY_SOCKET=" + name};
    Mount mount(home.source(), settings);
    const std::string first = manager.next();
    BOOST_TEST(first.starts_with("READY=1\nSTATUS=Mounted "), first);
    BOOST_TEST(
        first.find(home.source().string() + " on " + mount.path().string()) != std::string::npos,
        first);
    mount.signal(SIGTERM);
    const std::string last = manager.next();
    BOOST_TEST(last.starts_with("STOPPING=1\nSTATUS=Committing"), last);
    BOOST_TEST(mount.wait(Seconds{20}));
  }
}

// The signal may reach another thread just when the main thread begins to wait. It must not be
// lost.
BOOST_AUTO_TEST_CASE(ends_by_a_signal_that_comes_at_once,
                     *boost::unit_test::precondition(needs_fuse)) {
  constexpr int kRounds = 30;
  const Home home;
  const std::string name = home / "notify", point = home / "mnt", log = home / "log";
  const Listener manager(name);
  fs_std::create_directory(point);
  ProcessSettings settings;
  settings.environment = {"NOTIFY_SOCKET=" + name};
  for (int round = 0; round < kRounds; round++) {
    Child daemon({bloscfs_program(), "-f", home.source().string(), point}, log, settings);
    BOOST_TEST(manager.next().starts_with("READY=1"));
    daemon.signal(SIGTERM);
    BOOST_TEST(manager.next().starts_with("STOPPING=1"));
    const bool has_ended = daemon.wait(Seconds{20});
    force_unmount(point);
    BOOST_REQUIRE(has_ended);
  }
}

BOOST_AUTO_TEST_CASE(needs_nobody_who_listens, *boost::unit_test::precondition(needs_fuse)) {
  const Home home;
  for (const std::string& name :
       {home / "nowhere", std::string("relative"), std::string(5000, '/'), std::string()}) {
    MountSettings settings;
    settings.environment = {"NOTIFY_SOCKET=" + name};
    Mount mount(home.source(), settings);
    BOOST_TEST(exists(mount / "note"));
    mount.unmount();
  }
}

BOOST_AUTO_TEST_CASE(comes_back_where_a_daemon_has_died,
                     *boost::unit_test::precondition(needs_fuse)) {
  const Home home;
  MountSettings settings;
  settings.options = {"sandbox=off"};  // otherwise the janitor would unmount
  Mount dead(home.source(), settings);
  // The kernel keeps these attributes for a second, also when the daemon has died.
  struct stat st {};
  BOOST_REQUIRE(::stat(dead.path().c_str(), &st) == 0);
  dead.signal(SIGKILL);
  BOOST_REQUIRE(dead.wait(Seconds{20}));
  const ProcessResult result =
      run({bloscfs_program(), home.source().string(), dead.path().string() + "/"});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.err.find("removed a mount whose daemon had died") != std::string::npos,
             result.err);
  BOOST_TEST(exists(dead / "note"));
  force_unmount(dead.path());
  BOOST_TEST(!is_mounted(dead.path()));
}

BOOST_AUTO_TEST_CASE(units_are_understood,
                     *boost::unit_test::precondition(has_programs("systemd-analyze"))) {
  const fs_std::path packaging = fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tools/packaging";
  const TempDir home;
  const fs_std::path service = home / "bloscfs@runs.service";
  std::ofstream(service) << unit_text();
  Arguments command{"systemd-analyze", "verify", "--man=no", service.string()};
  for (const char* example : {"mnt-archive.mount", "mnt-archive.automount",
                              "bloscfs-metrics.service", "bloscfs-metrics.timer"})
    command.push_back((packaging / "examples" / example).string());
  const fs_std::path timer = home / "bloscfs-verify@runs.timer";
  fs_std::copy_file(packaging / "systemd/bloscfs-verify@.timer", timer);
  command.push_back(timer.string());
  const ProcessResult result = run(command);
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.err == "");
  const ProcessResult security =
      run({"systemd-analyze", "security", "--offline=true", "--threshold=50", service.string()});
  BOOST_TEST(security.ok(), security.out);
}

BOOST_AUTO_TEST_CASE(works_with_the_privileges_that_the_unit_leaves,
                     *boost::unit_test::precondition(needs_fuse_as_root) *
                         boost::unit_test::precondition(has_programs("setpriv"))) {
  const Home home;
  const std::string program = home / "bloscfs";
  std::ofstream(program) << "#!/bin/sh\nexec setpriv --no-new-privs --bounding-set "
                         << bounding_set() << " " << bloscfs_program() << " \"$@\"\n";
  fs_std::permissions(program, fs_std::perms(0755));
  MountSettings settings;
  settings.program = program;
  Mount mount(home.source(), settings);
  std::ofstream(mount / "new") << "contents";
  const ProcessResult changes =
      run({"sh", "-c",
           "cd \"$0\" && chown 1234:1234 new && chmod 0750 new && mkfifo pipe && ln new other && "
           "mv new moved && rm other && cat note moved",
           mount.path().string()});
  BOOST_TEST(changes.out == "read mecontents", changes.description());
  mount.unmount();
  BOOST_TEST(exists(home.source() / "moved.b2frame"));
  // The log has complaints about parts of the sandbox that are not available.
  BOOST_TEST(mount.complaints() == "");
}

BOOST_AUTO_TEST_CASE(examples_have_options_that_exist) {
  const fs_std::path root(BLOSCFS_TEST_SOURCE_ROOT);
  std::ifstream table(root / "tools/packaging/examples/fstab"), guide(root / "GUIDE.md");
  const std::string shown(std::istreambuf_iterator<char>(guide), {});
  int lines = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string source, point, type, options;
    if (line.starts_with('#') || !(fields >> source >> point >> type >> options)) continue;
    lines++;
    BOOST_TEST(type == "bloscfs");
    BOOST_CHECK_NO_THROW(bloscfs::fs::parse_options({options}));
    BOOST_TEST(shown.find("\n    " + line + "\n") != std::string::npos,
               "GUIDE.md lacks the line: " << line);
  }
  BOOST_TEST(lines == 3);
}

BOOST_AUTO_TEST_SUITE_END()
