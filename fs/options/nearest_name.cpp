#include "fs/options/nearest_name.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bloscfs::fs {
namespace {

constexpr std::size_t kLongestWord = 64;

/// Returns the number of letters to insert, remove or replace, and of adjacent ones to transpose,
/// that turn `a` into `b`.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); i++) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); j++) {
      const std::size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last.back();
}

/// True if `name` has `part` at `at`, as one or more whole words.
bool has_words(std::string_view name, std::string_view part, std::size_t at) {
  const std::size_t end = at + part.size();
  return (at == 0 || name[at - 1] == '_') && (end == name.size() || name[end] == '_');
}

/// How a name resembles a word, the nearest first.
enum class Likeness { beginning, common_word, none };

Likeness likeness_of(std::string_view word, std::string_view name) {
  const auto begins = [](std::string_view whole, std::string_view part) {
    return whole.starts_with(part) && has_words(whole, part, 0);
  };
  if (begins(name, word) || begins(word, name)) return Likeness::beginning;
  for (std::size_t at = 0; at < word.size();) {
    const std::string_view part = word.substr(at, word.find('_', at) - at);
    for (std::size_t found = name.find(part); found != std::string_view::npos;
         found = name.find(part, found + 1))
      if (!part.empty() && has_words(name, part, found)) return Likeness::common_word;
    at += part.size() + 1;
  }
  return Likeness::none;
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& names) {
  if (word.size() > kLongestWord) return std::nullopt;
  std::optional<std::string> nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t changes = distance(word, name);
    // Skips also a name of which all letters would change.
    if (changes >= least || changes >= name.size()) continue;
    least = changes;
    nearest = name;
  }
  return nearest;
}

std::vector<std::string> nearest_names(std::string_view word, std::vector<std::string> names,
                                       std::size_t count) {
  word = word.substr(0, kLongestWord);
  std::ranges::stable_sort(names, {}, [&](const std::string& name) {
    // Several names that begin with the word keep their order: all have much in addition.
    const Likeness likeness = likeness_of(word, name);
    return std::pair(likeness, likeness == Likeness::beginning ? 0 : distance(word, name));
  });
  names.resize(std::min(count, names.size()));
  return names;
}

}  // namespace bloscfs::fs
