// Tests what the sandboxed daemon of a mounted URL can reach, and what the mount reveals.

#include <atomic>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/mount/place.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/nginx.hpp"
#include "tests/remote/scripted_server.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/prisoner.hpp"
#include "tests/support/proc.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;

struct SafeServer {
  SafeServer() {
    fs_std::create_directory(nginx.www() / "folder");
    fs_std::permissions(nginx.www() / "folder", fs_std::perms(0755));
    nginx.serve("folder/a.b2frame", flat_frame(text));
    nginx.serve("folder/large.b2frame", large_object(2 << 20));
    nginx.serve("plain.txt", bytes_of("no frame"));
  }
  const std::string text = "contents";
  Nginx nginx;
};

SafeServer& safe_server() {
  static SafeServer one;
  return one;
}

std::string with_host(std::string url, const std::string& host) {
  return url.replace(url.find("127.0.0.1"), 9, host);
}

/// Returns the end of the mount's line in /proc/self/mountinfo: "OPTIONS - TYPE SOURCE ...".
std::string mount_line(const fs_std::path& point) {
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(" " + point.string() + " ");
    if (at != std::string::npos) return line.substr(at + point.string().size() + 2);
  }
  return {};
}

/// Runs a mount command that must be refused, and returns its result.
ProcessResult refusal(const std::string& source, std::vector<std::string> options = {}) {
  const TempDir point;
  Arguments command{bloscfs_program()};
  options.emplace_back("retry_time=0");
  for (const std::string& option : options) command.insert(command.end(), {"-o", option});
  command.insert(command.end(), {source, point.path().string()});
  ProcessResult result = run(command);
  BOOST_TEST(!is_mounted(point.path()));
  force_unmount(point.path());
  return result;
}

void check_refused(const ProcessResult& result, int status, const std::string& why) {
  BOOST_TEST(result.status == status, result.description());
  BOOST_TEST(result.err.find(why) != std::string::npos, result.err);
  BOOST_TEST(std::count(result.err.begin(), result.err.end(), '\n') == 1, result.err);
  BOOST_TEST(result.err.find("secret") == std::string::npos, result.err);
}

Precondition needs_root_and_nginx(utf::test_unit_id id) {
  for (const auto& needed : {needs_fuse_as_root(id), needs_plain_build(id)})
    if (!needed) return needed;
  return needs_nginx(id);
}

Precondition needs_nobody_and_nginx(utf::test_unit_id id) {
  for (const auto& needed : {needs_fuse_for_nobody(id), needs_plain_build(id)})
    if (!needed) return needed;
  return needs_nginx(id);
}

Precondition needs_others_and_nginx(utf::test_unit_id id) {
  const Precondition others = needs_fuse_for_others(id);
  return others ? needs_nginx(id) : others;
}

void check_prisoner(uid_t user) {
  Prisoner prisoner(user, {"sandbox=require"}, safe_server().nginx.url("folder/"));
  const Outcomes outcomes = prisoner.escape();
  BOOST_TEST(outcomes.size() >= 60U);
  // The daemon needs connections to servers, but cannot listen. As an ordinary user it has no mount
  // namespace of its own, since a user namespace would show wrong owners. It can then call stat()
  // on files outside.
  std::set<std::string> ways{"internet", "netlink", "write_folder"};
  if (user != 0) ways.insert("look_outside");
  BOOST_TEST(ways_out(outcomes) == ways, boost::test_tools::per_element());
  BOOST_CHECK(read_file(prisoner.outside("secret")) == bytes_of("secret"));
  BOOST_TEST(!fs_std::exists(prisoner.outside("new")));
  BOOST_TEST(fs_std::exists(prisoner.in_folder("kept")));
  if (user == 0) BOOST_TEST(cat(prisoner.mount() / "a") == safe_server().text);
  BOOST_TEST(prisoner.mount().unmount().ok(), prisoner.mount().log());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mount_sandbox)

BOOST_AUTO_TEST_CASE(code_in_the_daemon_gets_nowhere, *utf::precondition(needs_root_and_nginx)) {
  check_prisoner(0);
}

BOOST_AUTO_TEST_CASE(code_in_an_ordinary_users_daemon_gets_nowhere,
                     *utf::precondition(needs_nobody_and_nginx)) {
  check_prisoner(nobody());
}

BOOST_AUTO_TEST_CASE(every_layer_lets_it_resolve_and_check_certificates,
                     *utf::precondition(needs_root_and_nginx)) {
  Nginx& nginx = safe_server().nginx;
  struct Case {
    std::string url;
    std::vector<std::string> options;
  };
  // In the sandbox, the daemon needs the file of `cafile` and, for host names, /etc/hosts.
  for (const auto& [url, more] : {Case{nginx.secure_url("folder/"), {"cafile=" + nginx.cafile()}},
                                  Case{with_host(nginx.url("folder/"), "localhost"), {}}})
    BOOST_TEST_CONTEXT(url) {
      std::vector<std::string> options = more;
      options.emplace_back("sandbox=require");
      Mount mount(url, impatient(options));
      BOOST_TEST(names_in(mount.path()) == (std::vector<std::string>{"a", "large"}),
                 boost::test_tools::per_element());
      BOOST_TEST(cat(mount / "a") == safe_server().text);
      BOOST_TEST(cat(mount / "large").size() == 2U << 20);
      BOOST_TEST(process_status(mount.pid(), "NoNewPrivs") == "1");
      BOOST_TEST(process_status(mount.pid(), "Seccomp") == "2");
      for (const char* set : {"CapPrm", "CapEff", "CapBnd"})
        BOOST_TEST(std::stoull(process_status(mount.pid(), set), nullptr, 16) == 0U, set);
      BOOST_TEST(mount.complaints() == "");
      BOOST_TEST(mount.unmount().ok(), mount.log());
    }
}

BOOST_AUTO_TEST_CASE(the_folder_of_a_cache_is_made_written_and_read,
                     *utf::precondition(needs_root_and_nginx)) {
  Nginx& nginx = safe_server().nginx;
  const TempDir place;
  const fs_std::path folder = place / "cache";
  const auto size_kept = [&] {
    std::uintmax_t size = 0;
    for (const auto& entry : fs_std::recursive_directory_iterator(folder)) {
      std::error_code is_gone;  // the daemon may rename a temporary during the walk
      const std::uintmax_t one = entry.is_regular_file(is_gone) ? entry.file_size(is_gone) : 0;
      if (!is_gone) size += one;
    }
    return size;
  };
  const auto settings = impatient({"sandbox=require", "disk_cache=" + folder.string()});
  {
    Mount mount(nginx.url("folder/"), settings);
    BOOST_TEST(cat(mount / "large").size() == 2U << 20);
    BOOST_TEST(comes_true([&] { return size_kept() > 2U << 20; }));
    BOOST_TEST(mount.complaints() == "");
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  nginx.forget_requests();
  Mount mount(nginx.url("folder/"), settings);
  BOOST_TEST(cat(mount / "large").size() == 2U << 20);
  BOOST_TEST(nginx.wait_for_requests(2).size() <= 4U);
  check_refused(refusal(nginx.url("folder/"), {"disk_cache=/proc/nothing"}), 1, "/proc/nothing");
}

/// Each option works in the sandbox, too. An option that needs what the sandbox forbids fails here.
BOOST_AUTO_TEST_CASE(every_option_works_in_it, *utf::precondition(needs_root_and_nginx)) {
  Nginx& nginx = safe_server().nginx;
  const TempDir place;
  const std::string users = (place / "users").string(), folder = (place / "cache").string();
  write_file(users, std::string_view("machine 127.0.0.1 login me password secret\n"));
  struct Case {
    std::string url;
    std::vector<std::string> options;
  };
  const std::string plain = nginx.url("folder/");
  for (const auto& [url, options] :
       {Case{nginx.url("private/folder/a.b2frame"), {"netrc=" + users}},
        Case{nginx.secure_url("folder/"), {"cafile=" + nginx.cafile()}},
        Case{plain, {"connections=3"}}, Case{plain, {"retry_time=5"}},
        Case{plain, {"disk_cache=" + folder}},
        Case{plain, {"disk_cache=" + folder, "disk_cache_size=1M"}}, Case{plain, {"revalidate=0"}},
        Case{plain, {"raw"}}, Case{plain, {"verify"}}, Case{plain, {"threads=2"}},
        Case{plain, {"cache_size=32M"}}, Case{plain, {"nostores"}}, Case{plain, {"uid=5,gid=6"}},
        Case{plain, {"libfuse_io"}}, Case{plain, {"idle_timeout=100"}},
        Case{plain, {"log=" + (place / "log").string()}}, Case{plain, {"allow_other"}}})
    BOOST_TEST_CONTEXT(fmt::format("{}", fmt::join(options, ","))) {
      std::vector<std::string> all = options;
      all.emplace_back("sandbox=require");
      Mount mount(url, impatient(all));
      BOOST_TEST(cat(mount / "a") == safe_server().text);
      BOOST_TEST(mount.complaints() == "");
      BOOST_TEST(mount.unmount().ok(), mount.log());
    }
  check_refused(refusal(nginx.url("private/folder/a.b2frame")), 1, "Permission denied");
}

BOOST_AUTO_TEST_CASE(credentials_are_found_before_the_sandbox_and_told_to_nobody,
                     *utf::precondition(needs_root_and_nginx)) {
  // The server is no object store; the test checks only that the mount asks it, and with which key.
  // The answer ends the mount. It waits until the test has looked at the mount's processes.
  std::atomic<bool> is_looked_at = false;
  ScriptedServer server([&](const HttpRequest&) {
    comes_true([&] { return is_looked_at.load(); });
    return HttpReply{reply_of("403 No", "", "")};
  });
  const TempDir place;
  const std::string file = (place / "credentials").string();
  write_file(file, std::string_view("[default]\naws_access_key_id = filed\n"
                                    "aws_secret_access_key = known-to-few\n"));
  using Environment = std::vector<std::string>;
  for (const auto& [who, environment] :
       {std::pair("filed", Environment{"AWS_SHARED_CREDENTIALS_FILE=" + file}),
        std::pair("named",
                  Environment{"AWS_ACCESS_KEY_ID=named", "AWS_SECRET_ACCESS_KEY=known-to-few"})})
    BOOST_TEST_CONTEXT(who) {
      MountSettings settings;
      settings.options = {"sandbox=require", "endpoint=" + server.address("")};
      settings.environment = environment;
      is_looked_at = false;
      try {
        Mount mount("s3://bucket/x", settings);
        pid_t janitor = -1;
        BOOST_TEST_REQUIRE(comes_true([&] { return (janitor = janitor_of(mount.path())) > 0; }));
        for (const pid_t process : {mount.pid(), janitor}) {
          const ByteVector told = read_file("/proc/" + std::to_string(process) + "/environ");
          BOOST_TEST(!contains({told.begin(), told.end()}, "known-to-few"));
        }
        is_looked_at = true;
        BOOST_TEST(mount.wait(Seconds(10)));
        BOOST_TEST(!contains(mount.log(), "known-to-few"), mount.log());
      } catch (const MountRefused& refused) {
        BOOST_ERROR(refused.what());
      }
      BOOST_TEST_REQUIRE(server.requests() > 0);
      const std::string sent = server.seen().back().value("Authorization");
      BOOST_TEST(contains(sent, std::string("Credential=") + who + "/"), sent);
    }
}

BOOST_AUTO_TEST_CASE(a_certificate_of_somebody_else_is_no_mount,
                     *utf::precondition(needs_fuse_and_nginx)) {
  Nginx& nginx = safe_server().nginx;
  check_refused(refusal(nginx.secure_url("folder/")), 1, "ertificate");
  check_refused(
      refusal(with_host(nginx.secure_url("folder/"), "localhost"), {"cafile=" + nginx.cafile()}), 1,
      "localhost");
  check_refused(refusal(nginx.secure_url("folder/"), {"cafile=/nonexistent"}), 1, "bloscfs: ");
}

BOOST_AUTO_TEST_CASE(the_mount_table_tells_what_it_is_and_no_secret,
                     *utf::precondition(needs_fuse_and_nginx)) {
  Nginx& nginx = safe_server().nginx;
  Mount mount(nginx.url("folder/?key=secret"), impatient({"suid", "dev"}));
  const std::string line = mount_line(mount.path());
  std::istringstream words(line);
  std::string options;
  words >> options;
  for (const char* option : {"ro", "nosuid", "nodev"})
    BOOST_TEST(("," + options + ",").find(fmt::format(",{},", option)) != std::string::npos, line);
  BOOST_TEST(line.find(" fuse.bloscfs " + nginx.url("folder/?...") + " ") != std::string::npos,
             line);
  struct statvfs st {};
  BOOST_TEST(statvfs(mount.path().c_str(), &st) == 0);
  BOOST_TEST((st.f_flag & (ST_RDONLY | ST_NOSUID)) == (ST_RDONLY | ST_NOSUID));
  BOOST_TEST(cat(mount / "a") == safe_server().text);
  for (const Arguments& change :
       {Arguments{"touch", mount / "new"}, Arguments{"rm", "-f", mount / "a"},
        Arguments{"mkdir", mount / "new"}, Arguments{"truncate", "-s0", mount / "a"}})
    BOOST_TEST(output_of(change).find("Read-only file system") != std::string::npos, change[0]);
  BOOST_TEST(mount.log().find("secret") == std::string::npos, mount.log());
  const pid_t janitor = janitor_of(mount.path());
  for (const pid_t process : {mount.pid(), janitor > 0 ? janitor : mount.pid()}) {
    const std::string told = text_of(read_file(fmt::format("/proc/{}/cmdline", process)));
    BOOST_TEST(told.find("secret") == std::string::npos);
    BOOST_TEST(told.find(nginx.url("folder/?.")) != std::string::npos, told);
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_mounted_is_refused_with_one_line,
                     *utf::precondition(needs_fuse_and_nginx)) {
  Nginx& nginx = safe_server().nginx;
  const std::string folder = nginx.url("folder/"), frame = nginx.url("folder/a.b2frame");
  check_refused(refusal(nginx.url("nothing.b2frame?secret")), 1, "No such file or directory");
  check_refused(refusal(nginx.url("nothing/")), 1, "No such file or directory");
  check_refused(refusal(nginx.url("folder")), 1,
                "only a directory has this name; add '/' to the end of the URL");
  check_refused(refusal(nginx.url("closed")), 1, "Permission denied");
  check_refused(refusal(nginx.url("login?secret")), 1, "Permission denied");
  check_refused(refusal(nginx.url("plain.txt")), 1, "is not a Blosc2 frame");
  check_refused(refusal(nginx.url("loop")), 1, "redirects");
  check_refused(refusal("http://me:secret@127.0.0.1/x?secret"), 1, "user and password");
  check_refused(refusal("s3://me:secret@bucket/x"), 1, "user and password");
  check_refused(refusal("s3://bucket/x", {"anonymous", "endpoint=http://me:secret@127.0.0.1"}), 1,
                "user and password");
  check_refused(refusal(folder, {"proxy=http://me:secret@127.0.0.1"}), 1, "user and password");
  check_refused(refusal("http://127.0.0.1/x#secret"), 1, "fragment");
  check_refused(refusal(folder, {"rw"}), 1, "cannot be written");
  for (const char* option : {"cross_mounts", "locking", "unsupported=raw"})
    check_refused(refusal(folder, {option}), 1, "cannot be used with a URL");
  check_refused(refusal(frame, {"netrc=/nonexistent"}), 1, "/nonexistent");
}

BOOST_AUTO_TEST_CASE(options_of_urls_are_for_urls, *utf::precondition(needs_fuse_and_nginx)) {
  const TempDir source;
  for (const char* option :
       {"endpoint=http://127.0.0.1", "region=x", "virtual_host", "anonymous", "cafile=/x",
        "netrc=/x", "connections=3", "disk_cache=/tmp", "disk_cache_size=1G", "revalidate=3"}) {
    const TempDir point;
    const ProcessResult result =
        run({bloscfs_program(), "-o", option, source.path().string(), point.path().string()});
    BOOST_TEST(result.status != 0, option);
    BOOST_TEST(result.err.find("can only be used with a URL") != std::string::npos, result.err);
    BOOST_TEST(!is_mounted(point.path()));
    force_unmount(point.path());
  }
}

BOOST_AUTO_TEST_CASE(it_runs_in_the_background, *utf::precondition(needs_fuse_and_nginx)) {
  const TempDir point;
  const ProcessResult result =
      run({bloscfs_program(), safe_server().nginx.url("folder/a.b2frame"), point.path().string()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.err == "");
  BOOST_TEST(cat(point / "a") == safe_server().text);
  BOOST_TEST(force_unmount(point.path()));
}

BOOST_AUTO_TEST_CASE(others_read_what_they_are_let_into,
                     *utf::precondition(needs_others_and_nginx)) {
  Nginx& nginx = safe_server().nginx;
  const auto read_as = [](uid_t user, const fs_std::path& file) {
    ProcessSettings settings;
    settings.uid = user;
    const ProcessResult result = run({"cat", file.string()}, settings);
    return result.ok() ? result.out : result.err;
  };
  Mount open(nginx.url("folder/"), impatient({"allow_other"}));
  Mount closed(nginx.url("folder/"), impatient());
  BOOST_TEST(read_as(nobody(), open / "a") == safe_server().text);
  BOOST_TEST(read_as(0, open / "a") == safe_server().text);
  BOOST_TEST(read_as(nobody(), closed / "a").find("Permission denied") != std::string::npos);
  MountSettings settings = impatient({"allow_other"});
  settings.uid = nobody();
  const TempDir home;
  fs_std::permissions(home.path(), fs_std::perms(0755));
  settings.program = copy_for_all(bloscfs_program(), home);
  Mount theirs(nginx.url("folder/"), settings);
  for (const uid_t user : {uid_t{0}, nobody()})
    BOOST_TEST(read_as(user, theirs / "a") == safe_server().text);
}

BOOST_AUTO_TEST_SUITE_END()
