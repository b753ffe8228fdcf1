// Tests trees of objects in a real store.

#include <csignal>
#include <cstdlib>
#include <future>
#include <set>

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/remote/open_remote.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/s3_probe.hpp"
#include "frame/remote/s3_tree.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"

namespace {

using namespace bloscfs::frame;
using namespace bloscfs::test;
namespace utf = boost::unit_test;
using Condition = ObjectCondition::Kind;

/// A tree with a client that counts its requests.
struct Tree {
  explicit Tree(const std::string& bucket_name, const std::string& prefix = {},
                bool writable = true)
      : client(shared_rgw().client()) {
    S3Address address(bucket_name, shared_rgw().endpoint(), "us-east-1", false);
    auto bucket = std::make_unique<S3Bucket>(std::move(address), client, std::chrono::seconds(20));
    tree = std::make_shared<S3Tree>(std::move(bucket), prefix, writable, true);
    before = client->requests();
  }

  std::uint64_t requests() {
    return client->requests() - std::exchange(before, client->requests());
  }

  std::shared_ptr<HttpClient> client;
  std::shared_ptr<S3Tree> tree;
  std::uint64_t before = 0;
};

template <typename Call>
int errno_of(const Call& call) {
  try {
    call();
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return 0;
}

std::string why(const std::string& source, const RemoteSettings& settings, int& error) {
  try {
    open_remote(source, settings);
  } catch (const RemoteError& problem) {
    error = problem.code().value();
    return problem.explanation();
  }
  return {};
}

std::string contents_of(ObjectTree& tree, const std::string& path) {
  const auto source = tree.open(path, nullptr);
  std::string text(source->state().size, 0);
  ByteVector bytes(text.size());
  source->read_exactly_at(0, bytes, "object");
  return {bytes.begin(), bytes.end()};
}

ObjectState put(ObjectTree& tree, const std::string& path, const std::string& text,
                const ObjectCondition& condition = {},
                const std::map<std::string, std::string>& metadata = {}) {
  return tree.put(path, bytes_of(text), condition, metadata);
}

std::vector<std::string> names_of(const std::vector<ObjectEntry>& entries) {
  std::vector<std::string> names;
  for (const ObjectEntry& entry : entries)
    names.push_back(entry.name + (entry.is_directory ? "/" : ""));
  return names;
}

RemoteSettings settings_with(const std::string& secret) {
  ::setenv("AWS_ACCESS_KEY_ID", Rgw::kAccessKey, 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", secret.c_str(), 1);
  RemoteSettings settings;
  settings.endpoint = shared_rgw().endpoint();
  settings.retry_time = std::chrono::seconds(5);
  return settings;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(s3_rgw, *utf::precondition(needs_ceph))

BOOST_AUTO_TEST_CASE(a_store_that_keeps_conditions_is_written_to) {
  const std::string bucket = new_bucket();
  RemoteSettings settings = settings_with(Rgw::kSecretKey);
  settings.writable = true;
  int error = 0;
  BOOST_TEST(
      why("s3://" + bucket + "/some/place/", settings, error) ==
      "no object has this prefix; check the URL, or mount with -o create to start an empty one");
  BOOST_TEST(error == ENOENT);
  settings.may_be_empty = true;
  const auto tree = open_remote("s3://" + bucket + "/some/place/", settings);
  BOOST_TEST(std::getenv("AWS_SECRET_ACCESS_KEY") == nullptr);
  BOOST_TEST(tree->is_writable());
  BOOST_TEST(!tree->single());
  BOOST_TEST(tree->list("").empty());
  BOOST_TEST(tree->url("a b") == shared_rgw().endpoint() + "/" + bucket + "/some/place/a%20b");
  // The first tree has removed the keys from the environment. The second one still knows them.
  settings.writable = false;
  const auto again = open_remote("s3://" + bucket, settings);
  BOOST_TEST(again->list("").empty());
  BOOST_TEST(errno_of([&] { put(*again, "x", "text"); }) == EROFS);
}

BOOST_AUTO_TEST_CASE(refusals_say_why) {
  const std::string bucket = new_bucket();
  int error = 0;
  RemoteSettings settings = settings_with("wrong");
  BOOST_TEST(why("s3://" + bucket, settings, error).find("SignatureDoesNotMatch") !=
             std::string::npos);
  BOOST_TEST(error == EACCES);
  settings = settings_with(Rgw::kSecretKey);
  BOOST_TEST(why("s3://no-such-bucket", settings, error) ==
             "the bucket no-such-bucket does not exist");
  BOOST_TEST(error == ENOENT);
  BOOST_TEST(why("s3://no-such-bucket/name", settings, error) ==
             "the bucket no-such-bucket does not exist");
  settings.anonymous = true;
  why("s3://" + bucket, settings, error);
  BOOST_TEST(error == EACCES);
}

BOOST_AUTO_TEST_CASE(many_keys_are_listed_a_thousand_at_once) {
  Tree tree(new_bucket());
  std::vector<PendingAnswer> pending;
  for (int i = 0; i < 2500; i++) {
    WebRequest request;
    request.method = HttpMethod::put;
    request.place.url = parse_url(tree.tree->url(fmt::format("{:04}", i)));
    pending.push_back(tree.client->send(std::move(request)));
  }
  for (PendingAnswer& some : pending) some.wait();
  put(*tree.tree, "deep/er/key", "x");
  tree.requests();
  const auto entries = tree.tree->list("");
  BOOST_TEST(tree.requests() == 3U);
  BOOST_TEST_REQUIRE(entries.size() == 2501U);
  BOOST_TEST(entries[17].name == "0017");
  BOOST_TEST(entries.back().name == "deep");
  BOOST_TEST(entries.back().is_directory);
}

BOOST_AUTO_TEST_CASE(names_may_have_any_bytes) {
  Tree tree(new_bucket());
  const std::set<std::string> names{
      "a b",    "a+b",   "a%20b",    "%",    "q?x=1&y",  "#", "\xC3\xA9t\xC3\xA9",
      "'\"<&>", "a=b;c", "~-_.!*()", "a\\b", "tab\there"};
  for (const std::string& name : names)
    for (const std::string& path : {name, "in " + name + "/" + name}) {
      put(*tree.tree, path, path);
      BOOST_TEST(contents_of(*tree.tree, path) == path);
    }
  std::set<std::string> listed;
  for (const ObjectEntry& entry : tree.tree->list(""))
    if (!entry.is_directory) listed.insert(entry.name);
  BOOST_TEST((listed == names));
  for (const std::string& name : names)
    BOOST_TEST((names_of(tree.tree->list("in " + name)) == std::vector{name}), name);
}

BOOST_AUTO_TEST_CASE(listings_tell_the_states_that_opening_tells) {
  Tree tree(new_bucket());
  put(*tree.tree, "file", "some text");
  put(*tree.tree, "empty", "");
  put(*tree.tree, "folder/", "");
  for (const ObjectEntry& entry : tree.tree->list("")) {
    if (entry.is_directory) continue;
    const auto source = tree.tree->open(entry.name, nullptr);
    BOOST_TEST(entry.state->same_bytes(source->state()), entry.name);
    BOOST_TEST(entry.state->modified == source->state().modified);
    BOOST_TEST(source->is_in_memory());
    BOOST_TEST((tree.tree->open(entry.name, source) == source), entry.name);
  }
  BOOST_TEST(tree.tree->list("folder").empty());
  BOOST_TEST(errno_of([&] { tree.tree->list("nothing"); }) == ENOENT);
  BOOST_TEST(errno_of([&] { tree.tree->open("nothing", nullptr); }) == ENOENT);
}

BOOST_AUTO_TEST_CASE(prefixes_are_frames_sparse_frames_or_directories) {
  const std::string bucket = new_bucket();
  {
    Tree tree(bucket);
    put(*tree.tree, "in/one.b2frame", "frame");
    put(*tree.tree, "in/sparse.b2frame/chunks.b2frame", "index");
  }
  Tree one(bucket, "in/one.b2frame", false);
  BOOST_TEST(one.client->requests() == 2U);
  BOOST_TEST(one.tree->single().value() == "one.b2frame");
  BOOST_TEST(contents_of(*one.tree, "one.b2frame") == "frame");
  BOOST_TEST(one.requests() == 0U);
  Tree sparse(bucket, "in/sparse.b2frame", false);
  BOOST_TEST(sparse.client->requests() == 2U);
  BOOST_TEST(sparse.tree->single().value() == "sparse.b2frame");
  BOOST_TEST(contents_of(*sparse.tree, "sparse.b2frame/chunks.b2frame") == "index");
  BOOST_TEST(sparse.requests() == 0U);
  BOOST_TEST(contents_of(*sparse.tree, "sparse.b2frame/chunks.b2frame") == "index");
  BOOST_TEST(sparse.requests() == 1U);
  Tree folder(bucket, "in", false);
  BOOST_TEST(folder.client->requests() == 1U);
  BOOST_TEST(!folder.tree->single());
  BOOST_TEST((names_of(folder.tree->list("")) ==
              std::vector<std::string>{"one.b2frame", "sparse.b2frame/"}));
  BOOST_TEST(folder.requests() == 0U);
  RemoteSettings settings = settings_with(Rgw::kSecretKey);
  int error = 0;
  for (const char* prefix : {"/im", "/im/", "/in/tw"})
    BOOST_TEST(why("s3://" + bucket + prefix, settings, error) ==
                   "no object has this prefix; check the URL",
               prefix);
  BOOST_TEST(error == ENOENT);
}

BOOST_AUTO_TEST_CASE(large_objects_are_read_by_ranges) {
  Tree tree(new_bucket());
  const ByteVector noise = make_contents("noise", 1, 3 << 20, 1);
  const ObjectState state = tree.tree->put("large", noise, {}, {});
  const auto source = tree.tree->open("large", nullptr);
  BOOST_TEST(source->state().same_bytes(state));
  ByteVector piece(5000);
  source->read_exactly_at(2000000, piece, "object");
  BOOST_TEST(std::equal(piece.begin(), piece.end(), noise.begin() + 2000000));
  tree.tree->put("large", make_contents("noise", 2, 3 << 20, 1), {}, {});
  BOOST_TEST(errno_of([&] { source->read_exactly_at(1000000, piece, "object"); }) == EIO);
}

BOOST_AUTO_TEST_CASE(conditions_hold_or_the_change_is_lost) {
  Tree tree(new_bucket());
  const ObjectState first = put(*tree.tree, "x", "one", {Condition::absent, {}});
  BOOST_TEST(errno_of([&] { put(*tree.tree, "x", "two", {Condition::absent, {}}); }) == ESTALE);
  const ObjectState second = put(*tree.tree, "x", "two", {Condition::same, first});
  BOOST_TEST(errno_of([&] { put(*tree.tree, "x", "three", {Condition::same, first}); }) == ESTALE);
  BOOST_TEST(errno_of([&] { put(*tree.tree, "y", "three", {Condition::same, first}); }) == ESTALE);
  BOOST_TEST(contents_of(*tree.tree, "x") == "two");
  BOOST_TEST(errno_of([&] { tree.tree->remove("x", {Condition::same, first}); }) == ESTALE);
  tree.tree->remove("x", {Condition::same, second});
  BOOST_TEST(errno_of([&] { tree.tree->open("x", nullptr); }) == ENOENT);
  BOOST_TEST(errno_of([&] { tree.tree->remove("x", {Condition::same, second}); }) == ESTALE);
  tree.tree->remove("x", {});
}

BOOST_AUTO_TEST_CASE(metadata_is_kept_and_a_commit_is_known_again) {
  Tree tree(new_bucket());
  const std::map<std::string, std::string> metadata{
      {"commit", "1234"}, {"mode", "0644"}, {"mtime", "17.5"}, {"note", "a  b"}};
  const ObjectState made = put(*tree.tree, "x", "one", {Condition::absent, {}}, metadata);
  BOOST_TEST((made.metadata == metadata));
  BOOST_TEST((tree.tree->open("x", nullptr)->state().metadata == metadata));
  // Repeats the PUT, as after a lost answer. Equal metadata prove that this host put the object.
  const ObjectState again = put(*tree.tree, "x", "one", {Condition::absent, {}}, metadata);
  BOOST_TEST(again.same_bytes(made));
  BOOST_TEST(errno_of([&] {
               put(*tree.tree, "x", "one", {Condition::absent, {}}, {{"commit", "5"}});
             }) == ESTALE);
  BOOST_TEST(errno_of([&] { put(*tree.tree, "x", "one", {}, {{"a", "b\nc"}}); }) == EINVAL);
  BOOST_TEST(errno_of([&] { put(*tree.tree, std::string(1200, 'k'), "x"); }) == ENAMETOOLONG);
}

BOOST_AUTO_TEST_CASE(objects_are_copied_with_what_was_put_with_them) {
  Tree tree(new_bucket());
  put(*tree.tree, "odd name+", "one", {}, {{"commit", "1"}});
  tree.tree->copy("odd name+", "copy");
  BOOST_TEST(contents_of(*tree.tree, "copy") == "one");
  BOOST_TEST(tree.tree->open("copy", nullptr)->state().metadata.at("commit") == "1");
  BOOST_TEST(errno_of([&] { tree.tree->copy("nothing", "late"); }) == ENOENT);
}

BOOST_AUTO_TEST_CASE(many_objects_are_removed_with_few_requests) {
  Tree tree(new_bucket());
  const std::vector<std::string> paths{
      "one", "odd name+", "a&b<c>", "with/slash", "\xC3\xA9t\xC3\xA9", "tab\there", "nothing"};
  for (const std::string& path : paths)
    if (path != "nothing") put(*tree.tree, path, "text");
  put(*tree.tree, "other", "stays");
  const auto before = tree.tree->numbers().requests;
  tree.tree->remove_all(paths);
  // XML cannot express the key with a tab, so this key takes a request of its own.
  BOOST_TEST(tree.tree->numbers().requests - before == 2U);
  const auto left = tree.tree->list("");
  BOOST_TEST_REQUIRE(left.size() == 1U);
  BOOST_TEST(left.front().name == "other");
}

BOOST_AUTO_TEST_CASE(b2frame_reads_frames) {
  const std::string bucket = new_bucket();
  const ByteVector noise = make_contents("noise", 1, 3 << 20, 1);
  Tree(bucket).tree->put("in/a b.b2frame", flat_frame(noise), {}, {});
  ProcessSettings settings;
  settings.environment = {std::string("AWS_ACCESS_KEY_ID=") + Rgw::kAccessKey,
                          std::string("AWS_SECRET_ACCESS_KEY=") + Rgw::kSecretKey};
  const Arguments arguments{B2FRAME, "cat", "--endpoint", shared_rgw().endpoint(),
                            "s3://" + bucket + "/in/a b.b2frame"};
  const ProcessResult result = run(arguments, settings);
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST((result.out == std::string(noise.begin(), noise.end())));
  settings.environment[1] = "AWS_SECRET_ACCESS_KEY=wrong";
  BOOST_TEST(run(arguments, settings).err.find("Permission denied") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(of_two_who_change_one_object_one_wins) {
  const std::string bucket = new_bucket();
  Tree left(bucket), right(bucket);
  ObjectState state = put(*left.tree, "x", "begin");
  for (int round = 0; round < 25; round++) {
    const auto change = [&, round](ObjectTree& tree, const std::string& who) {
      return std::async(std::launch::async, [&tree, &state, who, round] {
        const std::string text = who + std::to_string(round);
        return errno_of([&] {
          put(tree, "x", text, {Condition::same, state}, {{"commit", text}});
        });
      });
    };
    auto one = change(*left.tree, "left"), other = change(*right.tree, "right");
    const int left_error = one.get(), right_error = other.get();
    BOOST_TEST((left_error == 0) != (right_error == 0));
    BOOST_TEST(left_error + right_error == ESTALE);
    const auto now = left.tree->open("x", nullptr);
    BOOST_TEST(now->state().metadata.at("commit") ==
               (left_error == 0 ? "left" : "right") + std::to_string(round));
    state = now->state();
  }
}

BOOST_AUTO_TEST_CASE(daemons_end_with_a_program_that_is_killed) {
  const TempDir work;
  int ends[2];
  BOOST_TEST_REQUIRE(::pipe(ends) == 0);
  const pid_t program = ::fork();
  if (program == 0) {
    ProcessSettings settings;
    settings.ends_with_us = true;
    const Child daemon({"sleep", "600"}, (work / "log").string(), settings);
    const pid_t pid = daemon.pid();
    if (::write(ends[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
    for (;;) ::pause();
  }
  pid_t daemon = -1;
  BOOST_TEST(::read(ends[0], &daemon, sizeof daemon) == static_cast<ssize_t>(sizeof daemon));
  for (const int end : ends) ::close(end);
  // A daemon that has ended but was not reaped has no program any more.
  const auto runs = [&] {
    std::error_code error;
    return !fs_std::read_symlink("/proc/" + std::to_string(daemon) + "/exe", error).empty();
  };
  BOOST_TEST(runs());
  ::kill(program, SIGKILL);
  BOOST_TEST(::waitpid(program, nullptr, 0) == program);
  BOOST_TEST(comes_true([&] { return !runs(); }));
}

BOOST_AUTO_TEST_SUITE_END()
