#include "tools/mount_sample.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "fs/fuse/mount_answer.hpp"
#include "fs/fuse/mount_attributes.hpp"
#include "fs/mount/mount_question.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::tools {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kAnswerTimeout{5};

/// Reads all three attributes in one call, so that they describe about the same moment. Returns a
/// JSON array of texts. The requests are "{}" if the caller may not see them.
std::string ask_everything() {
  json answers = json::array();
  for (const auto name : {fs::kStatsAttribute, fs::kOperationsAttribute, fs::kRequestsAttribute}) {
    try {
      answers.push_back(fs::read_root_attribute(name));
    } catch (const std::system_error& error) {
      if (name != fs::kRequestsAttribute || error.code() != std::errc::operation_not_permitted)
        throw;
      answers.push_back("{}");
    }
  }
  return answers.dump();
}

OperationCounts counts_of(const json& operation) {
  OperationCounts counts;
  counts.count = operation.at("count");
  counts.bytes = operation.at("bytes");
  counts.total_us = operation.at("total_us");
  for (const auto& [longest, count] : operation.at("buckets").items()) {
    std::uint64_t time = 0;
    std::from_chars(longest.data(), longest.data() + longest.size(), time);
    counts.buckets[time] += count.get<std::uint64_t>();
  }
  return counts;
}

}  // namespace

std::uint64_t OperationCounts::percentile(unsigned percent) const {
  std::uint64_t all = 0;
  for (const auto& [longest, times] : buckets) all += times;
  std::uint64_t passed = 0;
  for (const auto& [longest, times] : buckets)
    if ((passed += times) * 100 >= all * percent) return longest;
  return 0;
}

std::uint64_t MountSample::counted(const char* name) const {
  const auto now = counters.value(name, std::uint64_t{0});
  const auto before = counters_before.value(name, std::uint64_t{0});
  return now >= before ? now - before : 0;
}

MountSample MountSample::since(const MountSample& before) const {
  MountSample part = *this;
  part.seconds = seconds - before.seconds;
  part.counters_before = before.counters;
  for (auto& [name, counts] : part.operations) {
    const auto known = before.operations.find(name);
    if (known == before.operations.end()) continue;
    const auto take_off = [](std::uint64_t& count, std::uint64_t earlier) {
      count -= std::min(count, earlier);
    };
    take_off(counts.count, known->second.count);
    take_off(counts.bytes, known->second.bytes);
    take_off(counts.total_us, known->second.total_us);
    for (const auto& [longest, count] : known->second.buckets)
      take_off(counts.buckets[longest], count);
  }
  return part;
}

MountSample take_sample(const fs::MountEntry& mount) {
  fs::MountQuestion question(mount, ask_everything);
  const auto answer = question.wait(kAnswerTimeout);
  if (!answer) fs::throw_no_answer(mount, kAnswerTimeout);
  try {
    const json answers = json::parse(*answer);
    MountSample sample;
    sample.counters = fs::parse_answer(answers.at(0).get<std::string>());
    sample.seconds = sample.counters.at("uptime_ms").get<double>() / 1000;
    const json operations = fs::parse_answer(answers.at(1).get<std::string>());
    for (const auto& [name, operation] : operations.items())
      sample.operations[name] = counts_of(operation);
    const json under_way = fs::parse_answer(answers.at(2).get<std::string>());
    if (under_way.contains("requests")) sample.requests = under_way["requests"];
    return sample;
  } catch (const json::exception&) {
    throw std::runtime_error("does not answer as a bloscfs of this version does");
  }
}

}  // namespace bloscfs::tools
