#include "tests/mount/tree_history.hpp"

#include <stdexcept>

namespace bloscfs::test {

TreeHistory::TreeHistory() : objects_{{true, frame::test::MemoryDisk::kRoot, {}}} {}

TreeHistory::Object TreeHistory::add_file(const ByteVector& contents, Time began) {
  objects_.push_back({false, 0, {{{began, fingerprint(contents)}}, {}}});
  return objects_.size();
}

TreeHistory::Object TreeHistory::add_directory() {
  objects_.push_back({true, 0, {}});
  return objects_.size();
}

void TreeHistory::write(Object file, const ByteVector& contents, Time began) {
  objects_[file - 1].contents.states.push_back({began, fingerprint(contents)});
}

void TreeHistory::name(const std::vector<Change>& changes, Time began) {
  ++events_;
  for (const auto& [entry, object] : changes) {
    auto& past = names_[entry];
    if (past.states.empty()) past.states.push_back({0, kNone, 0});
    past.states.push_back({began, object, events_});
  }
}

void TreeHistory::file_is_durable(Object file, Time acknowledged) {
  auto& past = objects_[file - 1].contents;
  past.durable.push_back({acknowledged, past.states.size() - 1});
  // fsync also makes the name durable under which the file was made. Other names need a sync of the
  // directory.
  const Entry* made_as = nullptr;
  const Naming* made = nullptr;
  for (const auto& [entry, name] : names_)
    for (const Naming& naming : name.states)
      if (naming.object == file && (made == nullptr || naming.event < made->event)) {
        made_as = &entry;
        made = &naming;
      }
  if (made == &names_.at(*made_as).states.back()) make_name_durable(*made_as, acknowledged);
}

void TreeHistory::make_name_durable(const Entry& entry, Time acknowledged) {
  auto& past = names_.at(entry);
  past.durable.push_back({acknowledged, past.states.size() - 1});
}

void TreeHistory::directory_is_durable(Object directory, Time acknowledged) {
  for (const auto& [entry, past] : names_)
    if (entry.first == directory) make_name_durable(entry, acknowledged);
}

void TreeHistory::set_nodes(const std::vector<std::uint64_t>& nodes) {
  auto node = nodes.begin();
  for (std::size_t i = kRoot; i < objects_.size(); ++i) {
    if (!objects_[i].is_directory) continue;
    if (node == nodes.end()) throw std::runtime_error("a directory has no node");
    objects_[i].node = *node++;
  }
  if (node != nodes.end()) throw std::runtime_error("a node is no directory");
}

TreeHistory::Object TreeHistory::at(const Entry& entry) const {
  const auto past = names_.find(entry);
  return past == names_.end() ? kNone : past->second.states.back().object;
}

std::vector<TreeHistory::Change> TreeHistory::entries() const {
  std::vector<Change> result;
  for (const auto& [entry, past] : names_)
    if (past.states.back().object != kNone) result.emplace_back(entry, past.states.back().object);
  return result;
}

std::vector<TreeHistory::Entry> TreeHistory::names_of(Object object) const {
  std::vector<Entry> result;
  for (const auto& [entry, past] : names_)
    if (past.states.back().object == object) result.push_back(entry);
  return result;
}

}  // namespace bloscfs::test
