// Tests where the client looks for credentials of object stores, and when it looks again.

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "frame/remote/credential_process.hpp"
#include "frame/remote/credentials_lookup.hpp"
#include "frame/remote/http_client.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/s3_signer.hpp"
#include "tests/mount/place.hpp"
#include "tests/remote/credentials_server.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/temp_dir.hpp"

namespace {

using namespace bloscfs::frame;
using bloscfs::test::comes_true;
using bloscfs::test::contains;
using bloscfs::test::CredentialsServer;
using bloscfs::test::HttpRequest;
using bloscfs::test::read_file;
using bloscfs::test::reply_of;
using bloscfs::test::TempDir;
using bloscfs::test::text_of;
using bloscfs::test::time_from_now;
using bloscfs::test::write_file;
namespace fs_std = bloscfs::test::fs_std;
using Look = CredentialsSource::Look;

/// A credentials lookup that can find only the files of a temporary folder.
struct Folder {
  Folder() {
    environment.credentials_file = (home / "credentials").string();
    environment.config_file = (home / "config").string();
    environment.metadata_disabled = true;
  }
  void credentials(std::string_view text) const { write_file(home / "credentials", text); }
  void config(std::string_view text) const { write_file(home / "config", text); }
  CredentialsLookup lookup() const {
    HttpSettings http;
    http.retry_time = retry_time;
    return {environment, std::move(http), "eu-west-1"};
  }
  std::optional<S3Credentials> find() const { return lookup().find(Look::if_changed); }
  /// Returns the access key that the lookup finds, "nothing", or the text of its error.
  std::string found() const {
    try {
      const auto result = find();
      return result ? result->access_key : "nothing";
    } catch (const RemoteError& error) {
      return error.explanation();
    }
  }
  /// Makes a program that prints `text` and counts its runs. Returns its path.
  std::string program(const std::string& text) const {
    const std::string path = (home / "program").string();
    write_file(path, std::string_view("#!/bin/sh\necho run >> " + (home / "runs").string() +
                                      "\ncat <<'E'\n" + text + "\nE\n"));
    fs_std::permissions(path, fs_std::perms(0755));
    return path;
  }
  std::size_t runs() const {
    return fs_std::exists(home / "runs") ? read_file(home / "runs").size() / 4 : 0;
  }

  TempDir home;
  AwsEnvironment environment;
  std::chrono::milliseconds retry_time{60'000};
};

std::string json_of(const std::string& access_key, const std::string& more = "") {
  return R"({"Version":1,"AccessKeyId":")" + access_key + R"(","SecretAccessKey":"s")" + more + "}";
}

bloscfs::codec::Bytes bytes_in(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(credentials)

BOOST_AUTO_TEST_CASE(secrets_leave_the_environment) {
  ::setenv("AWS_ACCESS_KEY_ID", "id-1", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret-1", 1);
  ::setenv("AWS_SESSION_TOKEN", "token-1", 1);
  ::setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "token-2", 1);
  const char* const place = std::getenv("AWS_SECRET_ACCESS_KEY");
  for (int i = 0; i < 2; i++) {
    const AwsEnvironment found = take_aws_environment();
    BOOST_TEST(found.credentials.access_key == "id-1");
    BOOST_TEST(found.credentials.secret_key == "secret-1");
    BOOST_TEST(found.credentials.session_token == "token-1");
    BOOST_TEST(found.container_token == "token-2");
    for (const char* name :
         {"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN"})
      BOOST_TEST(std::getenv(name) == nullptr, name);
    BOOST_TEST(*place == '\0');
  }
  ::setenv("AWS_ACCESS_KEY_ID", "id-2", 1);
  BOOST_CHECK_THROW(take_aws_environment(), RemoteError);
  ::setenv("AWS_SECRET_ACCESS_KEY", "two\r\nlines", 1);
  BOOST_CHECK_THROW(take_aws_environment(), RemoteError);
  ::unsetenv("AWS_ACCESS_KEY_ID");
}

BOOST_AUTO_TEST_CASE(the_first_source_that_has_them_wins) {
  Folder folder;
  CredentialsServer server;
  AwsEnvironment& environment = folder.environment;
  BOOST_TEST(folder.found() == "nothing");
  environment.metadata_disabled = false;
  environment.metadata_endpoint = server.address("/");
  server.give("of-instance");
  BOOST_TEST(folder.found() == "of-instance");
  environment.container_full_uri = server.address(CredentialsServer::kContainerPath);
  environment.container_token = CredentialsServer::kContainerToken;
  server.give("of-container");
  BOOST_TEST(folder.found() == "of-container");
  folder.config("[default]\ncredential_process = " + folder.program(json_of("of-program")) + "\n");
  BOOST_TEST(folder.found() == "of-program");
  folder.config(
      "[default]\naws_access_key_id=of-config\naws_secret_access_key=s\n"
      "credential_process=false\n");
  BOOST_TEST(folder.found() == "of-config");
  folder.credentials("[default]\naws_access_key_id=of-file\naws_secret_access_key=s\n");
  BOOST_TEST(folder.found() == "of-file");
  write_file(folder.home / "token", std::string_view("web-token\n"));
  environment.web_identity_token_file = (folder.home / "token").string();
  environment.role_arn = "arn:aws:iam::1:role/x";
  environment.sts_endpoint = server.address();
  server.give("of-web-identity");
  BOOST_TEST(folder.found() == "of-web-identity");
  environment.credentials = {"of-environment", "s", {}};
  BOOST_TEST(folder.found() == "of-environment");
  BOOST_TEST(!folder.lookup().can_change());
}

BOOST_AUTO_TEST_CASE(profiles_are_those_of_both_files) {
  Folder folder;
  folder.credentials(
      "# note\naws_access_key_id = outside\n[default]\naws_access_key_id=a\n"
      "aws_secret_access_key = s=1 \n[ other ]\r\naws_access_key_id = b\r\n"
      "aws_secret_access_key = t\r\naws_session_token = u\r\n[broken\naws_access_key_id = c\n");
  folder.config(
      "[default]\naws_session_token = of-default\n"
      "[profile indented]\n  aws_access_key_id = d\n  aws_secret_access_key = v\n"
      "[profile nested]\naws_access_key_id = e\naws_secret_access_key = w\n"
      "s3 =\n  aws_access_key_id = f\n[session]\naws_access_key_id = g\naws_secret_access_key = x\n"
      "[profile region]\nregion = nowhere\n");
  BOOST_TEST(folder.find()->secret_key == "s=1");
  BOOST_TEST(folder.find()->session_token == "of-default");
  for (const auto& [profile, key] : {std::pair("other", "b"), std::pair("indented", "d"),
                                     std::pair("nested", "e"), std::pair("region", "nothing")}) {
    folder.environment.profile = profile;
    BOOST_TEST(folder.found() == key, profile);
  }
  for (const char* profile : {"nobody", "session", "profile nested"}) {
    folder.environment.profile = profile;
    BOOST_TEST(contains(folder.found(), "has no profile"), profile);
  }
}

BOOST_AUTO_TEST_CASE(files_that_are_none_are_refused) {
  Folder folder;
  fs_std::create_directory(folder.home / "credentials");
  BOOST_TEST(contains(folder.found(), "is not a credentials file"));
  fs_std::remove(folder.home / "credentials");
  folder.credentials(std::string(2 << 20, '\n'));
  BOOST_TEST(contains(folder.found(), "is not a credentials file"));
  folder.credentials("[default]\naws_access_key_id=a b\naws_secret_access_key=s\n");
  BOOST_TEST(contains(folder.found(), "have blanks"));
}

BOOST_AUTO_TEST_CASE(a_program_is_run_with_its_arguments_and_bounded) {
  Folder folder;
  const auto with = [&](const std::string& command) {
    folder.config("[default]\ncredential_process = " + command + "\n");
    return folder.found();
  };
  const std::string program = folder.program(json_of("a", R"(,"SessionToken":"t")"));
  BOOST_TEST(with("\"" + program + "\" --for 'two words'") == "a");
  BOOST_TEST(folder.find()->session_token == "t");
  BOOST_TEST(contains(with("false"), "has failed"));
  BOOST_TEST(contains(with(program + "; exit 1"), "has failed"));
  BOOST_TEST(contains(with("kill -9 $$"), "has failed"));
  BOOST_TEST(contains(with("yes"), "prints too much"));
  BOOST_TEST(contains(with("echo hello"), "prints no credentials"));
  BOOST_TEST(contains(with("/nonexistent"), "has failed"));
  BOOST_TEST(!contains(with("echo known-to-few; false"), "known-to-few"));
}

BOOST_AUTO_TEST_CASE(a_program_may_take_as_long_as_a_request) {
  Folder folder;
  folder.retry_time = std::chrono::milliseconds(500);
  const std::string program = folder.program(json_of("a"));
  for (const char* slow : {"sleep 3", "for i in $(seq 100); do echo; sleep 0.03; done"}) {
    folder.config(std::string("[default]\ncredential_process = ") + slow + "; " + program + "\n");
    BOOST_TEST(contains(folder.found(), "takes too long"), slow);
  }
}

BOOST_AUTO_TEST_CASE(a_program_that_is_given_up_is_killed_with_its_descendants) {
  Folder folder;
  const std::string started = (folder.home / "started").string();
  folder.config("[default]\ncredential_process = setsid --wait sh -c 'echo $$ > " + started +
                ".new; mv " + started + ".new " + started + "; sleep 1000'; true\n");
  CredentialsLookup lookup = folder.lookup();
  std::thread stopping([&] {
    comes_true([&] { return fs_std::exists(started); });
    lookup.stop();
  });
  BOOST_CHECK_THROW(lookup.find(Look::if_changed), RemoteError);
  stopping.join();
  const pid_t process = std::stoi(text_of(read_file(started)));
  BOOST_TEST(comes_true([&] { return ::kill(process, 0) != 0; }));
  ::kill(process, SIGKILL);
}

BOOST_AUTO_TEST_CASE(a_program_in_the_background_is_not_waited_for) {
  Folder folder;
  const fs_std::path started = folder.home / "started";
  folder.config("[default]\ncredential_process = sleep 1000 & echo $! > " + started.string() +
                "; " + folder.program(json_of("a")) + "\n");
  BOOST_TEST(folder.found() == "a");
  BOOST_TEST(::kill(std::stoi(text_of(read_file(started))), SIGKILL) == 0);
}

BOOST_AUTO_TEST_CASE(roles_are_assumed_with_the_keys_of_another_profile) {
  Folder folder;
  CredentialsServer server;
  folder.environment.sts_endpoint = server.address();
  folder.config(
      "[default]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = middle\n"
      "region = far-away\nexternal_id = a/b&c\n"
      "[profile middle]\nrole_arn = arn:aws:iam::1:role/y\nsource_profile = middle\n");
  folder.credentials("[middle]\naws_access_key_id = source\naws_secret_access_key = s\n");
  server.give("of-role", 900);
  const auto found = folder.find();
  BOOST_TEST_REQUIRE(found.has_value());
  BOOST_TEST(found->access_key == "of-role");
  BOOST_TEST(found->secret_key == CredentialsServer::secret_of("of-role"));
  BOOST_TEST(found->session_token == CredentialsServer::kSessionToken);
  BOOST_TEST(std::abs(found->expires - std::time(nullptr) - 900) < 60);
  const auto seen = server.seen();
  BOOST_TEST_REQUIRE(seen.size() == 2U);
  BOOST_TEST(access_key_of(seen[0]) == "source");
  BOOST_TEST(access_key_of(seen[1]) == "of-role");
  BOOST_TEST(contains(seen[1].value("Authorization"), "/far-away/sts/aws4_request"));
  BOOST_TEST(contains(seen[1].body, "&ExternalId=a%2Fb%26c&"));
  BOOST_TEST(contains(seen[1].body, "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx&"));
}

BOOST_AUTO_TEST_CASE(roles_that_cannot_be_assumed_are_errors) {
  Folder folder;
  CredentialsServer server;
  folder.environment.sts_endpoint = server.address();
  const auto with = [&](const std::string& config) {
    folder.config("[default]\nrole_arn = r\n" + config);
    return folder.found();
  };
  BOOST_TEST(contains(with(""), "needs source_profile"));
  BOOST_TEST(contains(with("source_profile = x\n"), "the profile does not exist"));
  BOOST_TEST(contains(with("source_profile = x\n[profile x]\n"), "the profile has no credentials"));
  BOOST_TEST(contains(with("source_profile = x\n[profile x]\nrole_arn = r\nsource_profile = "
                           "default\n"),
                      "refer to each other"));
  const std::string token = (folder.home / "token").string();
  const std::string web = "web_identity_token_file = " + token + "\n";
  BOOST_TEST(contains(with(web), "token"));
  write_file(token, std::string_view("wrong-token"));
  BOOST_TEST(contains(with(web), "403: AccessDenied"));
  BOOST_TEST(!contains(with(web), "wrong-token"));
  write_file(token, std::string_view("web-token"));
  BOOST_TEST(with(web) == "KEY");
}

BOOST_AUTO_TEST_CASE(tokens_of_containers_go_to_their_server_alone) {
  Folder folder;
  CredentialsServer server;
  AwsEnvironment& environment = folder.environment;
  environment.container_full_uri = server.address(CredentialsServer::kContainerPath);
  environment.container_token = "wrong";
  BOOST_TEST(contains(folder.found(), "status 403"));
  environment.container_token_file = (folder.home / "token").string();
  write_file(environment.container_token_file, std::string(CredentialsServer::kContainerToken));
  BOOST_TEST(folder.found() == "KEY");
  for (const char* url :
       {"http://example.org/x", "http://10.0.0.1/x", "http://169.254.169.254/x"}) {
    environment.container_full_uri = url;
    BOOST_TEST(contains(folder.found(), "neither https nor this host"), url);
  }
  // The lookup follows no redirect, which would give the token to another server.
  bloscfs::test::ScriptedServer elsewhere([&](const HttpRequest&) {
    return bloscfs::test::HttpReply{
        reply_of("302 Found", "Location: " + server.address("/container") + "\r\n", "")};
  });
  environment.container_full_uri = elsewhere.address();
  BOOST_TEST(contains(folder.found(), "redirects"));
  BOOST_TEST(server.seen().size() == 2U);
}

BOOST_AUTO_TEST_CASE(instances_are_asked_twice_and_may_have_none) {
  Folder folder;
  CredentialsServer server;
  folder.environment.metadata_disabled = false;
  folder.environment.metadata_endpoint = server.address();
  server.set_broken(true);
  BOOST_TEST(folder.found() == "nothing");
  BOOST_TEST(server.seen().size() == 2U);
  // The lookup speaks only version 2 of the protocol, which begins with a PUT for a token.
  for (const HttpRequest& request : server.seen()) BOOST_TEST(request.head.starts_with("PUT "));
  bloscfs::test::ScriptedServer other([](const HttpRequest& request) {
    return bloscfs::test::HttpReply{
        reply_of("200 OK", "", request.head.starts_with("PUT") ? "t" : "../../x\n")};
  });
  folder.environment.metadata_endpoint = other.address("");
  BOOST_TEST(folder.found() == "nothing");
  folder.environment.metadata_endpoint =
      "http://127.0.0.1:" + std::to_string(bloscfs::test::free_port());
  BOOST_TEST(folder.found() == "nothing");
}

BOOST_AUTO_TEST_CASE(what_was_found_is_kept_until_a_file_changes) {
  Folder folder;
  folder.credentials("[default]\naws_access_key_id=a\naws_secret_access_key=s\n");
  CredentialsLookup lookup = folder.lookup();
  BOOST_TEST(lookup.find(Look::if_changed)->access_key == "a");
  bloscfs::test::await_file_time_step();
  folder.credentials("[default]\naws_access_key_id=b\naws_secret_access_key=s\n");
  BOOST_TEST(lookup.find(Look::if_changed)->access_key == "b");
  fs_std::remove(folder.home / "credentials");
  BOOST_TEST(!lookup.find(Look::if_changed));
  folder.config("[default]\ncredential_process=" + folder.program(json_of("c")) + "\n");
  for (int i = 0; i < 5; i++) {
    BOOST_TEST(lookup.find(Look::if_changed)->access_key == "c");
    // Look::again runs the program once more. If that gives the same keys, it does not run it again
    // soon.
    BOOST_TEST(lookup.find(Look::again)->access_key == "c");
  }
  BOOST_TEST(folder.runs() == 2U);
}

BOOST_AUTO_TEST_CASE(credentials_are_looked_up_again_before_they_expire) {
  Folder folder;
  const auto print = [&](const std::string& key, int lifetime) {
    folder.program(json_of(key, R"(,"Expiration":")" + time_from_now(lifetime) + "\""));
  };
  print("long", 3600);
  folder.config("[default]\ncredential_process=" + (folder.home / "program").string() + "\n");
  CredentialsLookup lookup = folder.lookup();
  for (int i = 0; i < 3; i++) lookup.find(Look::if_changed);
  BOOST_TEST(folder.runs() == 1U);
  print("short", 4);
  CredentialsLookup other = folder.lookup();
  BOOST_TEST(other.find(Look::if_changed)->access_key == "short");
  BOOST_TEST(other.find(Look::if_changed)->access_key == "short");
  print("next", 3600);
  BOOST_TEST(comes_true([&] { return other.find(Look::if_changed)->access_key == "next"; }));
  BOOST_TEST(folder.runs() == 3U);
}

BOOST_AUTO_TEST_CASE(answers_from_anywhere_are_understood_or_refused) {
  const auto expires = [](const std::string& time) {
    return parse_json_credentials(bytes_in(json_of("a", R"(,"Expiration":")" + time + "\"")))
        ->expires;
  };
  BOOST_TEST(expires("2013-05-24T00:00:01Z") == 1369353601);
  BOOST_TEST(expires("2013-05-24T00:00:01.123456Z") == 1369353601);
  BOOST_TEST(expires("2013-05-24T02:00:01+02:00") == 1369353601);
  BOOST_TEST(expires("2013-05-23T23:30:01.5-0030") == 1369353601);
  BOOST_TEST(expires("") == 0);
  for (const char* time : {"tomorrow", "2013-05-24", "2013-05-24T00:00:01X", "1369353601"})
    BOOST_CHECK_THROW(expires(time), RemoteError);
  for (const char* text : {"", "[]", "{}", "{", "null", R"({"AccessKeyId":"a"})",
                           R"({"AccessKeyId":1,"SecretAccessKey":2})"})
    BOOST_TEST(!parse_json_credentials(bytes_in(text)), text);
  BOOST_CHECK_THROW(parse_json_credentials(bytes_in(json_of("a b"))), RemoteError);
  BOOST_CHECK_THROW(parse_json_credentials(bytes_in(json_of(std::string(5000, 'a')))), RemoteError);
  BOOST_TEST(!parse_json_credentials(bytes_in(std::string(60000, '['))));
  BOOST_TEST(!parse_sts_credentials(bytes_in("<a><b><Credentials/></b></a>")));
  BOOST_TEST(!parse_sts_credentials(bytes_in("")));
  const std::string json = json_of("a", R"(,"Expiration":"2013-05-24T00:00:01Z")");
  const std::string xml =
      "<A><B><Credentials><AccessKeyId>a</AccessKeyId><SecretAccessKey>b</SecretAccessKey>"
      "<Expiration>2013-05-24T00:00:01Z</Expiration></Credentials></B></A>";
  BOOST_TEST(parse_sts_credentials(bytes_in(xml))->expires == 1369353601);
  std::mt19937 random(1);
  for (int i = 0; i < 20000; i++) {
    std::string text = i % 2 == 0 ? json : xml;
    for (auto left = random() % 8 + 1; left > 0; left--)
      text[random() % text.size()] = static_cast<char>(random());
    try {
      if (i % 2 == 0)
        parse_json_credentials(bytes_in(text));
      else
        parse_sts_credentials(bytes_in(text));
    } catch (const RemoteError&) {
    }
    AwsProfiles profiles;
    add_profiles(profiles, text, ProfileFile::config);
  }
}

/// Gives the credentials that a test sets.
class ScriptedSource : public CredentialsSource {
 public:
  std::optional<S3Credentials> find(Look look) override {
    looks++;
    if (look == Look::again) forced++;
    if (is_broken) throw RemoteError(EIO, "broken");
    return S3Credentials{"key-" + std::to_string(number), "s", {}};
  }
  bool can_change() const override { return true; }
  std::atomic<int> number{1}, looks{0}, forced{0};
  std::atomic<bool> is_broken{false};
};

/// A server that accepts one access key, and a client whose signer uses a ScriptedSource.
struct Signed {
  Signed() {
    settings.retry_time = std::chrono::seconds(5);
    settings.notice = [this](const std::string& text) { notices.push_back(text); };
    settings.signer = std::make_shared<S3Signer>(*source->find(CredentialsSource::Look::if_changed),
                                                 "r", source, settings.notice);
    source->looks = 0;
    client = std::make_unique<HttpClient>(settings);
  }
  int error(std::function<void(WebRequest&)> change = {}) const {
    WebRequest request;
    request.place.url = server.url();
    request.whole_size = 1000;
    if (change) change(request);
    try {
      client->send(request).wait();
      return 0;
    } catch (const RemoteError& error) {
      return error.code().value();
    }
  }

  std::shared_ptr<ScriptedSource> source = std::make_shared<ScriptedSource>();
  std::atomic<int> accepted{1};
  std::string refusal = reply_of("403 Forbidden", "", "");
  bloscfs::test::ScriptedServer server{[this](const HttpRequest& request) {
    const bool is_good = access_key_of(request) == "key-" + std::to_string(accepted);
    return bloscfs::test::HttpReply{is_good ? reply_of("200 OK", "", "x") : refusal};
  }};
  HttpSettings settings;
  std::vector<std::string> notices;
  std::unique_ptr<HttpClient> client;
};

BOOST_AUTO_TEST_CASE(a_refused_request_is_repeated_once_if_the_credentials_are_others) {
  for (const std::string& refusal :
       {reply_of("403 Forbidden", "", ""),
        reply_of("400 Bad", "", "<Error><Code>ExpiredToken</Code></Error>")})
    for (const bool takes_errors : {false, true}) {
      Signed one;
      one.refusal = refusal;
      const auto change = [&](WebRequest& request) {
        request.takes_errors = takes_errors;
        request.retries = false;  // a refused request was not done, so it may be sent again
      };
      BOOST_TEST(one.error(change) == 0);
      BOOST_TEST(one.source->forced == 0);
      one.accepted = one.source->number = 2;
      BOOST_TEST(one.error(change) == 0);
      BOOST_TEST(one.source->forced == 1);
      BOOST_TEST(one.server.requests() == 3);
      // The server refuses the new credentials, too.
      one.accepted = 4;
      one.source->number = 3;
      BOOST_TEST((one.error(change) == 0) == takes_errors);
      BOOST_TEST(one.server.requests() == 5);
      BOOST_TEST(one.source->forced == 2);
    }
}

BOOST_AUTO_TEST_CASE(a_refused_request_fails_if_the_credentials_are_the_same) {
  Signed one;
  one.accepted = 2;
  BOOST_TEST(one.error() == EACCES);
  BOOST_TEST(one.server.requests() == 1);
  BOOST_TEST(one.source->forced == 1);
  one.source->is_broken = true;
  for (int i = 0; i < 3; i++) BOOST_TEST(one.error() == EACCES);
  BOOST_TEST(one.notices.size() == 1U);
  BOOST_TEST(contains(one.notices.at(0), "broken"));
  one.source->is_broken = false;
  one.source->number = 2;
  BOOST_TEST(one.error() == 0);
  // Another status does not make the client look for new credentials.
  one.refusal = reply_of("404 No", "", "");
  one.accepted = 3;
  const int before = one.source->forced;
  BOOST_TEST(one.error() == ENOENT);
  BOOST_TEST(one.source->forced == before);
}

BOOST_AUTO_TEST_CASE(many_requests_that_are_refused_at_once_share_a_lookup) {
  Signed one;
  one.accepted = one.source->number = 2;
  std::vector<PendingAnswer> pending;
  for (int i = 0; i < 200; i++) {
    WebRequest request;
    request.place.url = one.server.url();
    request.whole_size = 1000;
    pending.push_back(one.client->send(request));
  }
  for (PendingAnswer& answer : pending) BOOST_TEST(answer.wait().body.size() == 1U);
  BOOST_TEST(one.source->forced < 20);
}

BOOST_AUTO_TEST_CASE(clients_end_while_credentials_are_looked_up) {
  for (int i = 0; i < 50; i++) {
    Signed one;
    one.accepted = 2;
    WebRequest request;
    request.place.url = one.server.url();
    request.whole_size = 1000;
    const int refused = one.server.requests();
    PendingAnswer answer = one.client->send(request);
    if (i % 2 == 0) comes_true([&] { return one.server.requests() > refused; });
    one.settings.signer.reset();
    one.client.reset();
    BOOST_CHECK_THROW(answer.wait(), RemoteError);
  }
}

BOOST_AUTO_TEST_SUITE_END()
