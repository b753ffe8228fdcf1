// Mounts an object store with credentials that change, expire, or are refused.

#include <cerrno>
#include <functional>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>

#include "tests/mount/place.hpp"
#include "tests/remote/credentials_server.hpp"
#include "tests/remote/fake_store.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/prisoner.hpp"
#include "tests/support/proc.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;

/// A store, and the settings of a mount of it. The mount requires the sandbox if the test is root.
struct StoreHome {
  StoreHome() {
    for (int i = 0; i < kFiles; i++) store.add(name(i) + ".b2frame", flat_frame(text(i)));
  }
  static constexpr int kFiles = 20;
  static std::string name(int number) { return "file-" + std::to_string(number); }
  static std::string text(int number) { return "contents of " + std::to_string(number); }

  MountSettings settings(std::vector<std::string> options = {}) const {
    MountSettings result;
    result.options = std::move(options);
    result.options.insert(result.options.end(),
                          {"endpoint=" + store.endpoint(), "revalidate=0", "retry_time=5"});
    if (::geteuid() == 0) result.options.emplace_back("sandbox=require");
    result.environment = {"HOME=" + home.path().string(),
                          "AWS_SHARED_CREDENTIALS_FILE=" + (home / "credentials").string(),
                          "AWS_CONFIG_FILE=" + (home / "config").string()};
    for (const std::string& more : environment) result.environment.push_back(more);
    return result;
  }
  /// Replaces the credentials file by a rename, as careful programs do. The file is never
  /// incomplete.
  void set_key(const std::string& access_key) const {
    write_file(home / "new", std::string_view("[default]\naws_access_key_id = " + access_key +
                                              "\naws_secret_access_key = known-to-few\n"));
    fs_std::rename(home / "new", home / "credentials");
  }
  /// Sets the credentials that a credential process prints from now on.
  void set_printed(const std::string& access_key, int lifetime) const {
    write_file(home / "new",
               std::string_view(R"({"Version":1,"AccessKeyId":")" + access_key +
                                R"(","SecretAccessKey":"known-to-few","Expiration":")" +
                                time_from_now(lifetime) + "\"}"));
    fs_std::rename(home / "new", home / "printed");
    write_file(home / "config", std::string_view("[default]\ncredential_process = cat " +
                                                 (home / "printed").string() + "\n"));
  }

  FakeStore store;
  TempDir home;
  std::vector<std::string> environment{"AWS_EC2_METADATA_DISABLED=true"};
};

void check_file(const Mount& mount, int number) {
  BOOST_TEST(cat(mount / StoreHome::name(number)) == StoreHome::text(number));
}

/// Returns the message with which the mount is refused, or "mounted".
std::string refusal_of(const StoreHome& place) {
  const MountSettings settings = place.settings();
  const TempDir point;
  Arguments command{bloscfs_program()};
  for (const std::string& option : settings.options) command.insert(command.end(), {"-o", option});
  command.insert(command.end(), {"s3://bucket/in", point.path().string()});
  ProcessSettings process;
  process.environment = settings.environment;
  const ProcessResult result = run(command, process);
  force_unmount(point.path());
  return result.ok() ? "mounted" : result.err;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(credentials_mount, *utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(a_mount_survives_the_rotation_of_keys_in_a_file) {
  StoreHome place;
  place.set_key("one");
  place.store.accept_only("one");
  Mount mount("s3://bucket/in", place.settings({"rw"}));
  check_file(mount, 0);
  BOOST_TEST(place.store.refused() == 0);
  // The store refuses the old keys at once.
  place.set_key("two");
  place.store.accept_only("two");
  check_file(mount, 1);
  BOOST_TEST(errno_of_writing(mount / "new", 0, "written") == 0);
  BOOST_TEST(names_in(mount.path()).size() == StoreHome::kFiles + 1U);
  // The store accepts old keys for a while, so it refuses nothing.
  const int refused = place.store.refused();
  place.store.accept_only("");
  place.set_key("three");
  BOOST_TEST(comes_true([&] {
    check_file(mount, 2);
    return access_key_of(place.store.seen().back()) == "three";
  }));
  place.store.accept_only("three");
  check_file(mount, 3);
  BOOST_TEST(place.store.refused() == refused);
  BOOST_TEST(!contains(mount.log(), "known-to-few"), mount.log());
  BOOST_TEST(mount.complaints() == "");
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(a_write_in_progress_survives_the_rotation_of_keys) {
  StoreHome place;
  place.set_key("one");
  place.store.accept_only("one");
  Mount mount("s3://bucket/in", place.settings({"rw"}));
  Fd file(::open((mount / "new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  BOOST_TEST_REQUIRE(::pwrite(file.get(), "one", 3, 0) == 3);
  BOOST_TEST(::fsync(file.get()) == 0);
  place.set_key("two");
  place.store.accept_only("two", {"400 Bad Request", "ExpiredToken"});
  BOOST_TEST_REQUIRE(::pwrite(file.get(), "two", 3, 3) == 3);
  BOOST_TEST(::fsync(file.get()) == 0);
  place.set_key("three");
  place.store.accept_only("three");
  BOOST_TEST(::unlink((mount / StoreHome::name(0)).c_str()) == 0);
  file = Fd();
  BOOST_TEST(cat(mount / "new") == "onetwo");
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(a_refusal_with_the_same_keys_is_an_error_and_passes) {
  StoreHome place;
  place.set_key("one");
  Mount mount("s3://bucket/in", place.settings());
  check_file(mount, 0);
  place.store.accept_only("other");
  BOOST_TEST(contains(cat(mount / StoreHome::name(1)), "Permission denied"));
  place.store.accept_only("one");
  check_file(mount, 1);
  // While the credentials file is missing, the mount uses the earlier keys.
  fs_std::remove(place.home / "credentials");
  place.store.accept_only("two");
  BOOST_TEST(contains(cat(mount / StoreHome::name(2)), "Permission denied"));
  BOOST_TEST(contains(mount.log(), "credentials"), mount.log());
  place.set_key("two");
  check_file(mount, 2);
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(a_program_gives_new_keys_before_the_old_ones_expire) {
  StoreHome place;
  place.set_printed("one", 6);
  Mount mount("s3://bucket/in", place.settings());
  check_file(mount, 0);
  BOOST_TEST(access_key_of(place.store.seen().back()) == "one");
  place.set_printed("two", 6);
  // The store still accepts the old keys. The mount gets new ones without waiting for a refusal.
  BOOST_TEST(comes_true([&] {
    check_file(mount, 1);
    return access_key_of(place.store.seen().back()) == "two";
  }));
  BOOST_TEST(place.store.refused() == 0);
  // No program uses the mount until the keys have expired.
  place.set_printed("three", 3600);
  const auto expired = std::chrono::steady_clock::now() + std::chrono::seconds(7);
  comes_true([&] { return std::chrono::steady_clock::now() > expired; });
  place.store.accept_only("three");
  check_file(mount, 2);
  BOOST_TEST(place.store.refused() == 0);
  BOOST_TEST(mount.complaints() == "");
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(a_program_that_hangs_does_not_keep_a_mount_from_ending) {
  StoreHome place;
  place.set_printed("one", 6);
  Mount mount("s3://bucket/in", place.settings());
  check_file(mount, 0);
  write_file(place.home / "config",
             std::string_view("[default]\ncredential_process = sleep 100\n"));
  const pid_t keys = process_of(mount.path(), kKeysName);
  place.store.accept_only("two");
  Child reader({"cat", mount / StoreHome::name(3)}, (place.home / "log").string());
  BOOST_TEST(comes_true([&] { return place.store.refused() > 0; }));
  reader.signal(SIGKILL);
  BOOST_TEST(reader.wait(Seconds(5)));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  BOOST_TEST(comes_true([&] { return ::kill(keys, 0) != 0; }));
}

BOOST_AUTO_TEST_CASE(a_program_that_takes_longer_than_retry_time_is_given_up) {
  StoreHome place;
  place.set_printed("one", 3600);
  write_file(place.home / "config",
             std::string_view("[default]\ncredential_process = sleep 6; cat " +
                              (place.home / "printed").string() + "\n"));
  const std::string refusal = refusal_of(place);
  BOOST_TEST(contains(refusal, "credential_process takes too long"), refusal);
}

BOOST_AUTO_TEST_CASE(the_metadata_of_an_instance_give_new_keys_in_time) {
  StoreHome place;
  CredentialsServer metadata;
  place.environment = {"AWS_EC2_METADATA_SERVICE_ENDPOINT=" + metadata.address()};
  metadata.give("one", 6);
  place.store.accept_only("one");
  Mount mount("s3://bucket/in", place.settings());
  check_file(mount, 0);
  place.store.accept_only("");
  metadata.give("two", 3600);
  BOOST_TEST(comes_true([&] {
    check_file(mount, 1);
    return access_key_of(place.store.seen().back()) == "two";
  }));
  const HttpRequest last = place.store.seen().back();
  BOOST_TEST(last.value("x-amz-security-token") == CredentialsServer::kSessionToken);
  BOOST_TEST(place.store.refused() == 0);
  BOOST_TEST(mount.complaints() == "");
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(roles_and_containers_give_keys_to_a_mount) {
  StoreHome place;
  CredentialsServer server;
  write_file(place.home / "token", std::string_view("web-token"));
  const std::string token = "AWS_WEB_IDENTITY_TOKEN_FILE=" + (place.home / "token").string();
  using Environment = std::vector<std::string>;
  for (const auto& [key, environment] :
       {std::pair("of-role", Environment{token, "AWS_ROLE_ARN=arn:aws:iam::1:role/x",
                                         "AWS_ENDPOINT_URL_STS=" + server.address()}),
        std::pair("of-container", Environment{"AWS_CONTAINER_CREDENTIALS_FULL_URI=" +
                                                  server.address(CredentialsServer::kContainerPath),
                                              std::string("AWS_CONTAINER_AUTHORIZATION_TOKEN=") +
                                                  CredentialsServer::kContainerToken})}) {
    server.give(key);
    place.store.accept_only(key);
    place.environment = environment;
    Mount mount("s3://bucket/in", place.settings());
    check_file(mount, 0);
    for (const pid_t process : {mount.pid(), process_of(mount.path(), kKeysName)})
      BOOST_TEST(!contains(text_of(read_file(fmt::format("/proc/{}/environ", process))),
                           CredentialsServer::kContainerToken));
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
}

BOOST_AUTO_TEST_CASE(a_mount_without_credentials_is_refused_with_a_reason) {
  StoreHome place;
  BOOST_TEST(contains(refusal_of(place), "no credentials"));
  write_file(place.home / "config",
             std::string_view("[default]\ncredential_process = echo known-to-few; false\n"));
  const std::string refusal = refusal_of(place);
  BOOST_TEST(contains(refusal, "credential_process has failed"), refusal);
  BOOST_TEST(!contains(refusal, "known-to-few"));
  BOOST_TEST(place.store.requests() == 0);
}

BOOST_AUTO_TEST_CASE(a_refusal_names_where_the_credentials_come_from) {
  StoreHome place;
  place.set_printed("bad", 3600);
  for (const char* code : {"SignatureDoesNotMatch", "InvalidAccessKeyId"}) {
    place.store.accept_only("good", {"403 Forbidden", code});
    const std::string refusal = refusal_of(place);
    BOOST_TEST(contains(refusal, "come from credential_process of profile default"), refusal);
  }
  place.set_key("bad");
  std::string refusal = refusal_of(place);
  const std::string file = (place.home / "credentials").string();
  BOOST_TEST(contains(refusal, "come from profile default in " + file), refusal);
  place.environment = {"AWS_ACCESS_KEY_ID=bad", "AWS_SECRET_ACCESS_KEY=known-to-few"};
  refusal = refusal_of(place);
  BOOST_TEST(contains(refusal, "come from AWS_ACCESS_KEY_ID in the environment"), refusal);
  BOOST_TEST(!contains(refusal, "known-to-few"));
}

BOOST_AUTO_TEST_CASE(the_process_with_the_keys_shows_none_and_ends_with_the_daemon) {
  StoreHome place;
  place.set_key("one");
  for (const bool is_killed : {false, true}) {
    Mount mount("s3://bucket/in", place.settings());
    const pid_t keys = process_of(mount.path(), kKeysName);
    BOOST_TEST_REQUIRE(keys > 0);
    std::vector<std::string> open;
    for (const auto& entry : fs_std::directory_iterator(fmt::format("/proc/{}/fd", keys)))
      open.push_back(fs_std::read_symlink(entry.path()).string());
    std::erase(open, "/dev/null");
    BOOST_TEST(open.size() == 1U);
    BOOST_TEST(fs_std::read_symlink(fmt::format("/proc/{}/cwd", keys)) == "/");
    for (const char* file : {"environ", "cmdline"})
      BOOST_TEST(
          !contains(text_of(read_file(fmt::format("/proc/{}/{}", keys, file))), "known-to-few"));
    if (is_killed)
      mount.signal(SIGKILL);
    else
      BOOST_TEST(mount.unmount().ok(), mount.log());
    BOOST_TEST(comes_true(
        [&] { return ::kill(keys, 0) != 0 || contains(process_status(keys, "State"), "Z"); }));
  }
}

BOOST_AUTO_TEST_CASE(a_daemon_in_the_background_keeps_the_process) {
  StoreHome place;
  place.set_key("one");
  place.store.accept_only("one");
  const MountSettings settings = place.settings();
  ProcessSettings process;
  process.environment = settings.environment;
  const TempDir point;
  Arguments command{bloscfs_program()};
  for (const std::string& option : settings.options) command.insert(command.end(), {"-o", option});
  command.insert(command.end(), {"s3://bucket/in", point.path().string()});
  const ProcessResult result = run(command, process);
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(cat(point / StoreHome::name(0)) == StoreHome::text(0));
  place.set_key("two");
  place.store.accept_only("two");
  BOOST_TEST(cat(point / StoreHome::name(1)) == StoreHome::text(1));
  const pid_t keys = process_of(point.path(), kKeysName);
  BOOST_TEST(keys > 0);
  BOOST_TEST(force_unmount(point.path()));
  BOOST_TEST(comes_true([&] { return process_of(point.path(), kKeysName) < 0; }));
}

BOOST_AUTO_TEST_CASE(programs_get_no_secrets_of_the_environment) {
  StoreHome place;
  place.environment = {"AWS_SECRET_ACCESS_KEY=known-to-few", "AWS_SESSION_TOKEN=known-to-few",
                       "AWS_CONTAINER_AUTHORIZATION_TOKEN=known-to-few"};
  place.set_printed("one", 3600);
  const std::string told = (place.home / "told").string();
  write_file(place.home / "config",
             std::string_view(fmt::format("[default]\ncredential_process = env > {}; "
                                          "cat /proc/$PPID/environ >> {}; cat {}\n",
                                          told, told, (place.home / "printed").string())));
  Mount mount("s3://bucket/in", place.settings());
  check_file(mount, 0);
  const std::string text = file_text(told);
  BOOST_TEST(contains(text, "AWS_CONFIG_FILE="));
  BOOST_TEST(!contains(text, "known-to-few"), text);
}

BOOST_AUTO_TEST_CASE(keys_of_an_ordinary_users_file_are_renewed,
                     *utf::precondition(needs_fuse_for_nobody)) {
  StoreHome place;
  place.set_key("one");
  fs_std::permissions(place.home.path(), fs_std::perms(0755));
  place.store.accept_only("one");
  MountSettings settings = place.settings();
  settings.uid = nobody();
  const TempDir programs;
  fs_std::permissions(programs.path(), fs_std::perms(0755));
  settings.program = copy_for_all(bloscfs_program(), programs);
  Mount mount("s3://bucket/in", settings);
  const auto read = [&](int number) {
    ProcessSettings reader;
    reader.uid = nobody();
    return run({"cat", mount / StoreHome::name(number)}, reader).out;
  };
  BOOST_TEST(read(0) == StoreHome::text(0));
  place.set_key("two");
  place.store.accept_only("two");
  BOOST_TEST(read(1) == StoreHome::text(1));
  BOOST_TEST(mount.complaints() == "");
}

BOOST_AUTO_TEST_CASE(keys_of_the_environment_need_no_process) {
  StoreHome place;
  place.environment = {"AWS_ACCESS_KEY_ID=one", "AWS_SECRET_ACCESS_KEY=known-to-few"};
  place.store.accept_only("one");
  Mount mount("s3://bucket/in", place.settings());
  check_file(mount, 0);
  BOOST_TEST(process_of(mount.path(), kKeysName) < 0);
  place.store.accept_only("two");
  BOOST_TEST(contains(cat(mount / StoreHome::name(1)), "Permission denied"));
}

BOOST_AUTO_TEST_CASE(b2frame_finds_the_same_credentials) {
  StoreHome place;
  place.set_printed("one", 3600);
  place.store.accept_only("one");
  ProcessSettings settings;
  settings.environment = place.settings().environment;
  const Arguments arguments{B2FRAME, "cat", "--endpoint", place.store.endpoint(),
                            "s3://bucket/in/" + StoreHome::name(0) + ".b2frame"};
  const ProcessResult result = run(arguments, settings);
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.out == StoreHome::text(0));
  fs_std::remove(place.home / "config");
  BOOST_TEST(contains(run(arguments, settings).err, "no credentials"));
}

BOOST_AUTO_TEST_SUITE_END()
