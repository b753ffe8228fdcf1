#include "fs/fuse/mount_answer.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

namespace bloscfs::fs {
namespace {

using nlohmann::json;

/// json::dump() recurses for each level of nesting. Answers of bloscfs have three levels.
constexpr int kDeepest = 8;

[[noreturn]] void throw_foreign() {
  throw std::runtime_error("does not answer as a bloscfs of this version does");
}

std::uint64_t number_in(const json& object, const char* key, std::uint64_t largest) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) throw_foreign();
  const auto number = found->get<std::uint64_t>();
  if (number > largest) throw_foreign();
  return number;
}

}  // namespace

json parse_answer(const std::string& text) {
  const auto check_depth = [](int depth, json::parse_event_t, json&) {
    if (depth > kDeepest) throw_foreign();
    return true;
  };
  json answer = json::parse(text, check_depth, false);
  if (!answer.is_object()) throw_foreign();
  return answer;
}

DaemonNumbers parse_numbers(const std::string& text) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  const json answer = parse_answer(text);
  DaemonNumbers numbers;
  numbers.pid = static_cast<pid_t>(number_in(answer, "pid", std::numeric_limits<pid_t>::max()));
  if (numbers.pid == 0) throw_foreign();
  numbers.dirty_bytes = number_in(answer, "dirty_bytes", kLargest);
  numbers.cache_bytes = number_in(answer, "cache_bytes", kLargest);
  numbers.cache_size = number_in(answer, "cache_size", kLargest);
  for (const auto& [key, number] : {std::pair{"failing_files", &numbers.failing_files},
                                    {"rescued_files", &numbers.rescued_files},
                                    {"conflicts", &numbers.conflicts}})
    if (answer.contains(key)) *number = number_in(answer, key, kLargest);
  if (const auto found = answer.find("version"); found != answer.end() && found->is_string())
    numbers.version = found->get<std::string>();
  return numbers;
}

std::vector<UncommittedFile> failed_files(const std::string& text) {
  const json answer = parse_answer(text);
  std::vector<UncommittedFile> failed;
  try {
    for (const auto& file : answer.at("files").get_ref<const json::array_t&>()) {
      UncommittedFile entry{file.at("name"), file.value("error", ""), file.at("bytes")};
      if (!entry.error.empty()) failed.push_back(std::move(entry));
    }
  } catch (const json::exception&) {
    throw_foreign();
  }
  return failed;
}

}  // namespace bloscfs::fs
