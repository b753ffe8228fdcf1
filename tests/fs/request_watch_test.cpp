#include "fs/support/request_watch.hpp"

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace bloscfs::fs {
namespace {

using frame::WaitMark;
using frame::WaitReason;

constexpr RequestWatch::Sender kSender{7, 70};

std::uint64_t count_of(const RequestWatch& watch, Operation operation) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < Latencies::kBuckets; i++)
    count += watch.latencies(operation).count_of(i);
  return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(request_watch)

BOOST_AUTO_TEST_CASE(buckets_follow_each_other_without_a_gap) {
  BOOST_TEST(Latencies::bucket_of(0) == 0u);
  for (std::size_t bucket = 0; bucket + 1 < Latencies::kBuckets; bucket++) {
    const std::uint64_t longest = Latencies::longest_of(bucket);
    BOOST_TEST(Latencies::bucket_of(longest) == bucket);
    BOOST_TEST(Latencies::bucket_of(longest + 1) == bucket + 1);
  }
  BOOST_TEST(Latencies::bucket_of(~std::uint64_t{0}) == Latencies::kBuckets - 1);
}

BOOST_AUTO_TEST_CASE(lists_what_is_under_way_with_what_it_waits_for) {
  RequestWatch watch;
  {
    RequestWatch::Entry request(watch, Operation::read, 5, kSender);
    WaitMark::set_wait_state(request.waits());
    BOOST_TEST((watch.under_way().at(0).waits_for == WaitReason::nothing));
    const WaitMark outer(WaitReason::commit);
    {
      const WaitMark inner(WaitReason::network);
      BOOST_TEST((watch.under_way().at(0).waits_for == WaitReason::network));
    }
    const auto found = watch.under_way();
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST((found[0].waits_for == WaitReason::commit));
    BOOST_TEST((found[0].operation == Operation::read));
    BOOST_TEST(found[0].node == 5u);
    BOOST_TEST(found[0].sender.user == kSender.user);
    BOOST_TEST(found[0].sender.process == kSender.process);
    request.add_bytes(100);
  }
  WaitMark::set_wait_state(nullptr);
  BOOST_TEST(watch.under_way().empty());
  BOOST_TEST(count_of(watch, Operation::read) == 1u);
  BOOST_TEST(watch.bytes(Operation::read) == 100u);
  const WaitMark nobody_asks(WaitReason::network);
}

BOOST_AUTO_TEST_CASE(a_request_that_is_handed_over_ends_with_who_goes_on) {
  RequestWatch watch;
  std::optional<RequestWatch::Entry> kept;
  {
    RequestWatch::Entry request(watch, Operation::open, 1, kSender);
    kept.emplace(std::move(request));
    kept->waits()->begin(WaitReason::slot);
    BOOST_TEST((request.waits() == nullptr));
    request.add_bytes(1);
  }
  BOOST_TEST((watch.under_way().at(0).waits_for == WaitReason::slot));
  BOOST_TEST(count_of(watch, Operation::open) == 0u);
  std::thread([&] { kept.reset(); }).join();
  BOOST_TEST(watch.under_way().empty());
  BOOST_TEST(count_of(watch, Operation::open) == 1u);
  BOOST_TEST(watch.bytes(Operation::open) == 0u);
}

BOOST_AUTO_TEST_CASE(more_than_can_be_listed_are_counted) {
  constexpr std::size_t kMany = 1500;
  RequestWatch watch;
  {
    std::vector<RequestWatch::Entry> all;
    for (std::size_t i = 0; i < kMany; i++) all.emplace_back(watch, Operation::read, i, kSender);
    BOOST_TEST(watch.under_way().size() == 1024u);
  }
  BOOST_TEST(watch.under_way().empty());
  BOOST_TEST(count_of(watch, Operation::read) == kMany);
}

BOOST_AUTO_TEST_CASE(what_is_listed_is_of_one_request) {
  constexpr int kThreads = 4, kRounds = 20000;
  RequestWatch watch;
  std::vector<std::thread> threads;
  std::atomic<int> running{kThreads};
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; round++) {
        const auto number = static_cast<std::uint64_t>(round * kThreads + i);
        const RequestWatch::Entry request(watch, Operation::read, number,
                                          {static_cast<uid_t>(number), static_cast<pid_t>(number)});
      }
      running--;
    });
  bool is_whole = true;
  while (running > 0)
    for (const auto& request : watch.under_way())
      is_whole &= request.node == request.sender.user &&
                  request.node == static_cast<std::uint64_t>(request.sender.process);
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(is_whole);
  BOOST_TEST(watch.under_way().empty());
  BOOST_TEST(count_of(watch, Operation::read) == std::uint64_t{kThreads} * kRounds);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
