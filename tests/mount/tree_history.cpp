#include "tests/mount/tree_history.hpp"

#include <algorithm>
#include <set>

namespace bloscfs::test {

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

template <typename State>
std::vector<State> TreeHistory::Past<State>::possible(Time cut) const {
  std::size_t first = 0;
  for (const Durable& at : durable)
    if (at.acknowledged <= cut) first = std::max(first, at.first);
  std::vector<State> result;
  for (std::size_t i = first; i < states.size() && states[i].began <= cut; ++i)
    result.push_back(states[i]);
  return result;
}

TreeHistory::File TreeHistory::add(const ByteVector& contents, Time began) {
  files_.push_back({{{began, fingerprint(contents)}}, {}});
  return files_.size();
}

void TreeHistory::write(File file, const ByteVector& contents, Time began) {
  files_[file - 1].states.push_back({began, fingerprint(contents)});
}

void TreeHistory::name(const std::vector<Change>& changes, Time began) {
  ++events_;
  for (const auto& [path, file] : changes) {
    auto& past = names_[path];
    if (past.states.empty()) past.states.push_back({0, kNone, 0});
    past.states.push_back({began, file, events_});
  }
}

TreeHistory::File TreeHistory::file_at(const std::string& path) const {
  const auto past = names_.find(path);
  return past == names_.end() ? kNone : past->second.states.back().file;
}

void TreeHistory::file_is_durable(File file, Time acknowledged) {
  auto& past = files_[file - 1];
  past.durable.push_back({acknowledged, past.states.size() - 1});
  // The name under which a file was made comes with it. Others are the directory's matter.
  std::vector<std::pair<std::string, std::size_t>> namings;
  for (const auto& [path, name] : names_)
    for (std::size_t i = 0; i < name.states.size(); ++i)
      if (name.states[i].file == file) namings.emplace_back(path, i);
  if (namings.size() != 1) return;
  const auto& [path, number] = namings.front();
  if (number + 1 == names_.at(path).states.size()) make_name_durable(path, acknowledged);
}

void TreeHistory::make_name_durable(const std::string& path, Time acknowledged) {
  auto& past = names_.at(path);
  past.durable.push_back({acknowledged, past.states.size() - 1});
}

void TreeHistory::directory_is_durable(const std::string& directory, Time acknowledged) {
  for (const auto& [path, past] : names_)
    if (directory_of(path) == directory) make_name_durable(path, acknowledged);
}

bool TreeHistory::may_be(File file, const Fingerprint& contents, Time cut) const {
  const auto versions = files_[file - 1].possible(cut);
  return std::any_of(versions.begin(), versions.end(),
                     [&](const Version& version) { return version.contents == contents; });
}

std::string TreeHistory::problem_at(const std::string& path, const ShownTree& found,
                                    Time cut) const {
  const auto contents = found.find(path);
  const auto past = names_.find(path);
  if (past == names_.end()) return path + " was never there";
  for (const Naming& naming : past->second.possible(cut)) {
    if (naming.file == kNone
            ? contents == found.end()
            : contents != found.end() && may_be(naming.file, contents->second, cut))
      return {};
  }
  if (contents == found.end()) return path + " is lost";
  return path + " holds " + std::to_string(contents->second.size) + " bytes that it must not";
}

/// A file that was renamed once since its name was durable is under one of two names.
std::string TreeHistory::lost_file(const ShownTree& found, Time cut) const {
  std::map<File, std::set<std::size_t>> events;
  std::map<File, std::vector<std::string>> names;
  std::set<File> kept;
  for (const auto& [path, past] : names_) {
    const auto possible = past.possible(cut);
    for (const Naming& naming : possible) {
      if (naming.file == kNone) continue;
      names[naming.file].push_back(path);
      for (std::size_t i = 1; i < possible.size(); ++i)
        events[naming.file].insert(possible[i].event);
    }
    if (!possible.empty() && possible.front().file != kNone) kept.insert(possible.front().file);
  }
  for (const File file : kept) {
    if (events[file].size() != 1 || names[file].size() < 2) continue;
    const auto& paths = names[file];
    const bool is_there = std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      const auto contents = found.find(path);
      return contents != found.end() && may_be(file, contents->second, cut);
    });
    if (!is_there) return "a file was lost between " + paths[0] + " and " + paths[1];
  }
  return {};
}

std::string TreeHistory::problem_in(const ShownTree& found, Time cut) const {
  std::set<std::string> paths;
  for (const auto& [path, contents] : found) paths.insert(path);
  for (const auto& [path, past] : names_) paths.insert(path);
  for (const std::string& path : paths) {
    const std::string problem = problem_at(path, found, cut);
    if (!problem.empty()) return problem;
  }
  return lost_file(found, cut);
}

}  // namespace bloscfs::test
