// Tests trees of objects in stores that lie, lose answers, or list without end.

#include "frame/remote/s3_tree.hpp"

#include <fstream>

#include <boost/test/unit_test.hpp>

#include "frame/remote/remote_error.hpp"
#include "frame/store/wait_context.hpp"
#include "tests/remote/fake_store.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/set_clock.hpp"
#include "tests/support/subprocess.hpp"

namespace {

using namespace bloscfs::frame;
using namespace bloscfs::test;

const ObjectCondition kAbsent{ObjectCondition::Kind::absent, {}};

struct S3Outcome {
  int error = 0;
  std::string why;
};

template <typename Call>
S3Outcome s3_outcome(const Call& call) {
  try {
    call();
  } catch (const RemoteError& error) {
    return {error.code().value(), error.explanation()};
  }
  return {};
}

ObjectState put_text(ObjectTree& tree, const std::string& path, const std::string& text,
                     const ObjectCondition& condition = {}, const std::string& commit = {}) {
  std::map<std::string, std::string> metadata;
  if (!commit.empty()) metadata["commit"] = commit;
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  return tree.put(path, bytes, condition, metadata);
}

ObjectCondition same_as(const ObjectState& state) { return {ObjectCondition::Kind::same, state}; }

S3Outcome listing_of(const ScriptedServer::Answer& answer) {
  ScriptedServer server(answer);
  HttpSettings settings;
  settings.retry_time = std::chrono::milliseconds(0);
  auto bucket =
      std::make_unique<S3Bucket>(S3Address("bucket", server.address(""), "us-east-1", false),
                                 std::make_shared<HttpClient>(settings), settings.retry_time);
  return s3_outcome([&] { S3Tree(std::move(bucket), "", false, true).list(""); });
}

std::string cut_off_page(const std::string& token, const std::string& name) {
  return reply_of("200 OK", "",
                  "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" +
                      token + "</NextContinuationToken><Contents><Key>" + name +
                      "</Key></Contents></ListBucketResult>");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(s3_tree)

BOOST_AUTO_TEST_CASE(stores_that_lie_are_refused_and_left_clean) {
  using F = StoreFaults;
  const std::vector<std::pair<bool F::*, std::string>> faults{
      {&F::ignores_absent, "If-None-Match: * does not fail for a key that exists"},
      {&F::ignores_same, "If-Match does not fail with a stale ETag"},
      {&F::refuses_same, "If-Match fails with the current ETag"},
      {&F::makes_missing, "If-Match does not fail for a key that does not exist"},
      {&F::one_etag, "different contents have the same ETag"},
      {&F::forgets_metadata, "the store does not keep the metadata"},
      {&F::tells_no_etag, "the answer to PUT has no ETag"},
      {&F::knows_nothing, "501: NotImplemented"}};
  for (const auto& [fault, why] : faults) {
    StoreFaults settings;
    settings.*fault = true;
    FakeStore store(settings);
    const S3Outcome outcome = s3_outcome([&] { store.tree(true); });
    BOOST_TEST(outcome.error != 0, why);
    BOOST_TEST(outcome.why.find(why) != std::string::npos, outcome.why);
    BOOST_TEST(store.objects() == 0U, why);
  }
}

BOOST_AUTO_TEST_CASE(stores_that_do_not_are_taken) {
  FakeStore store;
  const auto tree = store.tree(true);
  BOOST_TEST(store.objects() == 0U);
  const ObjectState one = put_text(*tree, "a", "one", kAbsent);
  const ObjectState two = put_text(*tree, "a", "two", same_as(one));
  const int before = store.requests();
  BOOST_TEST(s3_outcome([&] { tree->remove("a", same_as(one)); }).error == ESTALE);
  tree->copy("a", "b");
  BOOST_TEST(store.requests() - before == 2);
  BOOST_TEST(s3_outcome([&] { tree->copy("nothing", "c"); }).error == ENOENT);
  BOOST_TEST(s3_outcome([&] { tree->remove_once("a", one); }).error == ESTALE);
  tree->remove_once("a", two);
  BOOST_TEST(store.objects() == 1U);
  tree->remove_all(std::vector<std::string>{"a", "b", "c"});
  BOOST_TEST(store.objects() == 0U);
}

BOOST_AUTO_TEST_CASE(where_a_store_knows_no_condition_it_is_looked_first) {
  StoreFaults faults;
  faults.ignores_removal = true;
  FakeStore store(faults);
  const auto tree = store.tree(true);
  const ObjectState one = put_text(*tree, "a", "one", kAbsent);
  const ObjectState two = put_text(*tree, "a", "two", same_as(one));
  BOOST_TEST(s3_outcome([&] { tree->remove("a", same_as(one)); }).error == ESTALE);
  BOOST_TEST(store.objects() == 1U);
  tree->remove("a", same_as(two));
  BOOST_TEST(store.objects() == 0U);
}

BOOST_AUTO_TEST_CASE(a_commit_whose_answer_was_lost_is_a_commit) {
  FakeStore store;
  const auto tree = store.tree(true);
  StoreFaults faults;
  faults.lost_answers = 2;
  store.set_faults(faults);
  const ObjectState one = put_text(*tree, "a", "one", kAbsent, "1");
  store.set_faults(faults);
  const ObjectState two = put_text(*tree, "a", "two", same_as(one), "2");
  BOOST_TEST(tree->open("a", nullptr)->state().same_bytes(two));
  store.set_faults(faults);
  BOOST_TEST(s3_outcome([&] { put_text(*tree, "a", "three", same_as(one), "3"); }).error == ESTALE);
  store.set_faults(faults);
  // Without metadata, the tree cannot know which host has put an object.
  BOOST_TEST(s3_outcome([&] { put_text(*tree, "b", "one", kAbsent); }).error == ESTALE);
}

BOOST_AUTO_TEST_CASE(a_refusal_that_is_not_true_is_none) {
  FakeStore store;
  const auto tree = store.tree(true);
  StoreFaults faults;
  faults.refused_puts = 2;
  store.set_faults(faults);
  const ObjectState one = put_text(*tree, "a", "one", kAbsent, "1");
  store.set_faults(faults);
  const ObjectState two = put_text(*tree, "a", "two", same_as(one), "2");
  BOOST_TEST(tree->open("a", nullptr)->state().same_bytes(two));
  faults.refused_puts = 1000;
  store.set_faults(faults);
  BOOST_TEST(s3_outcome([&] { put_text(*tree, "a", "three", same_as(two), "3"); }).error == ESTALE);
}

BOOST_AUTO_TEST_CASE(a_probe_whose_answers_were_lost_is_no_lie) {
  for (int lost = 1; lost <= 3; lost++) {
    StoreFaults faults;
    faults.lost_answers = lost;
    FakeStore store(faults);
    const S3Outcome probed = s3_outcome([&] { store.tree(true); });
    BOOST_TEST(probed.error == 0, lost << " lost: " << probed.why);
    BOOST_TEST(store.objects() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_probe_that_was_refused_where_nothing_is_asks_again) {
  for (const int refused : {1, 2, 3}) {
    StoreFaults faults;
    faults.refused_puts = refused;
    FakeStore store(faults);
    const S3Outcome probed = s3_outcome([&] { store.tree(true); });
    BOOST_TEST(probed.error == (refused < 3 ? 0 : EOPNOTSUPP), refused << ": " << probed.why);
    BOOST_TEST(store.objects() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_store_that_is_busy_is_asked_again) {
  const JumpingClock clock{};
  const WaitClock waits(clock);
  FakeStore store;
  const auto tree = store.tree(true);
  StoreFaults faults;
  faults.conflicts = 3;
  faults.failing_copies = 2;
  store.set_faults(faults);
  put_text(*tree, "a", "one", kAbsent, "1");
  tree->copy("a", "b");
  BOOST_TEST(store.objects() == 2U);
  faults.conflicts = 1000;
  store.set_faults(faults);
  BOOST_TEST(s3_outcome([&] { put_text(*tree, "c", "one", kAbsent); }).error == EIO);
}

BOOST_AUTO_TEST_CASE(secrets_are_not_in_the_environment_of_a_process) {
  ScriptedServer server([](const HttpRequest&) {
    return HttpReply{"", std::chrono::seconds(30), true};
  });
  ProcessSettings settings;
  settings.environment = {"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=not-to-be-seen",
                          "AWS_SESSION_TOKEN=not-to-be-seen"};
  const TempDir folder;
  Child child({B2FRAME, "info", "--endpoint", server.address(""), "s3://bucket/x"},
              (folder / "log").string(), settings);
  BOOST_TEST_REQUIRE(comes_true([&] { return server.requests() > 0; }));
  std::ifstream file("/proc/" + std::to_string(child.pid()) + "/environ");
  const std::string environment((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  BOOST_TEST(environment.find("AWS_ACCESS_KEY_ID=a") != std::string::npos);
  BOOST_TEST(environment.find("not-to-be-seen") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(listings_that_have_no_end_are_refused) {
  BOOST_TEST(listing_of([](const HttpRequest& request) {
               return HttpReply{cut_off_page("same", std::to_string(request.number)), {}, false};
             }).why == "the S3 listing does not end");
  BOOST_TEST(listing_of([](const HttpRequest& request) {
               std::string page = cut_off_page(std::to_string(request.number), "");
               const std::size_t at = page.find("<Contents>");
               const std::string body = page.substr(page.find("<List"), at - page.find("<List"));
               return HttpReply{reply_of("200 OK", "", body + "</ListBucketResult>"), {}, false};
             }).why == "the S3 listing does not end");
}

BOOST_AUTO_TEST_CASE(listings_that_do_not_advance_are_refused) {
  BOOST_TEST(listing_of([](const HttpRequest& request) {
               return HttpReply{cut_off_page(std::to_string(request.number), "key"), {}, false};
             }).why == "the S3 listing does not advance");
}

BOOST_AUTO_TEST_CASE(listings_that_are_none_are_refused) {
  for (const std::string& body :
       {std::string(), std::string("<html></html>"), std::string("<ListBucketResult>"),
        std::string("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"),
        std::string(9 << 20, ' ')})
    BOOST_TEST(listing_of([&](const HttpRequest&) {
                 return HttpReply{reply_of("200 OK", "", body), {}, false};
               }).error == EIO);
}

BOOST_AUTO_TEST_CASE(refusals_of_listings_have_their_errors) {
  const auto error_with = [](const std::string& status, const std::string& body) {
    return listing_of([&](const HttpRequest&) {
      return HttpReply{reply_of(status, "", body), {}, false};
    });
  };
  BOOST_TEST(error_with("403 No", "<Error><Code>AccessDenied</Code></Error>").error == EACCES);
  BOOST_TEST(error_with("404 No", "<Error><Code>NoSuchBucket</Code></Error>").why ==
             "the bucket bucket does not exist");
  BOOST_TEST(error_with("400 No",
                        "<Error><Code>AuthorizationHeaderMalformed</Code>"
                        "<Region>eu-west-1</Region></Error>")
                 .why ==
             "HTTP status 400: AuthorizationHeaderMalformed, the region is eu-west-1"
             " (region= may be wrong)");
  BOOST_TEST(error_with("403 No",
                        "<Error><Code>AccessDenied</Code><Message>not \r\n you</Message></Error>")
                 .why ==
             "HTTP status 403: AccessDenied: not   you (the credentials give no access; anonymous "
             "sends none)");
  BOOST_TEST(error_with("400 No", "<Error><Code>a\nb</Code></Error>").why == "HTTP status 400");
}

BOOST_AUTO_TEST_SUITE_END()
