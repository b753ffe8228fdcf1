#include "tests/mount/allowed_trees.hpp"

#include <algorithm>

namespace bloscfs::test {
namespace {

constexpr TreeHistory::Object kNone = TreeHistory::kNone;

const ShownEntry* find(const ShownTree& found, const std::pair<std::uint64_t, std::string>& place) {
  const auto directory = found.find(place.first);
  if (directory == found.end()) return nullptr;
  const auto shown = directory->second.find(place.second);
  return shown == directory->second.end() ? nullptr : &shown->second;
}

std::string describe(const std::pair<std::uint64_t, std::string>& place) {
  return place.second + " in node " + std::to_string(place.first);
}

}  // namespace

AllowedTrees::AllowedTrees(const TreeHistory& history, TreeHistory::Time cut) {
  for (const auto& [entry, past] : history.names()) {
    const Place place(history.known(entry.first).node, entry.second);
    const Namings& namings = namings_[place] = past.possible(cut);
    add_objects(place, namings);
  }
  for (auto& [object, allowed] : objects_) {
    const auto& known = history.known(object);
    allowed.node = known.node;
    for (const auto& version : known.contents.possible(cut))
      allowed.contents.push_back(version.contents);
  }
}

void AllowedTrees::add_objects(const Place& place, const Namings& namings) {
  std::set<Object> objects;
  for (const auto& naming : namings)
    if (naming.object != kNone) objects.insert(naming.object);
  for (const Object object : objects) {
    Allowed& allowed = objects_[object];
    allowed.places.push_back(place);
    if (objects.size() == 1 && namings.back().object == object) allowed.own_places.push_back(place);
    if (namings.front().object == object) allowed.is_durable = true;
    for (std::size_t i = 1; i < namings.size(); ++i) allowed.events.insert(namings[i].event);
  }
}

bool AllowedTrees::may_be(Object object, const ShownEntry* found) const {
  if (object == kNone || found == nullptr) return object == kNone && found == nullptr;
  const Allowed& allowed = objects_.at(object);
  if (allowed.node != 0 || found->directory != 0) return allowed.node == found->directory;
  return std::find(allowed.contents.begin(), allowed.contents.end(), found->contents) !=
         allowed.contents.end();
}

bool AllowedTrees::may_be_at(const Place& place, const ShownEntry* found) const {
  const auto namings = namings_.find(place);
  if (namings == namings_.end()) return found == nullptr;
  return std::any_of(namings->second.begin(), namings->second.end(),
                     [&](const auto& naming) { return may_be(naming.object, found); });
}

/// Describes two names of one file that show different contents. Returns an empty string if there
/// are no such names.
std::string AllowedTrees::parted_links(const ShownTree& found) const {
  for (const auto& [object, allowed] : objects_) {
    const ShownEntry* first = nullptr;
    for (const Place& place : allowed.own_places) {
      const ShownEntry* const shown = find(found, place);
      if (first == nullptr) first = shown;
      if (shown != nullptr && !(shown->contents == first->contents))
        return describe(place) + " shows something else than " +
               describe(allowed.own_places.front());
    }
  }
  return {};
}

/// Describes an object that is lost, or returns an empty string. Checks objects that had a durable
/// name and were moved exactly once since. Such an object must be at one of its two places, if both
/// directories exist.
std::string AllowedTrees::lost_object(const ShownTree& found) const {
  for (const auto& [object, allowed] : objects_) {
    const auto& places = allowed.places;
    if (!allowed.is_durable || allowed.events.size() != 1 || places.size() < 2) continue;
    const bool can_be_there = std::all_of(places.begin(), places.end(), [&](const Place& place) {
      return found.count(place.first) != 0;
    });
    const bool is_there = std::any_of(
        places.begin(), places.end(),
        [&, object = object](const Place& place) { return may_be(object, find(found, place)); });
    if (can_be_there && !is_there)
      return "lost between " + describe(places[0]) + " and " + describe(places[1]);
  }
  return {};
}

std::string AllowedTrees::problem_in(const ShownTree& found) const {
  for (const auto& [node, entries] : found)
    for (const auto& [name, shown] : entries)
      if (const Place place(node, name); !may_be_at(place, &shown))
        return describe(place) + " must not be " +
               (shown.directory != 0 ? "a directory"
                                     : std::to_string(shown.contents.size) + " such bytes");
  for (const auto& [place, namings] : namings_)
    if (found.count(place.first) != 0 && find(found, place) == nullptr &&
        !may_be_at(place, nullptr))
      return describe(place) + " is lost";
  const std::string parted = parted_links(found);
  return parted.empty() ? lost_object(found) : parted;
}

}  // namespace bloscfs::test
