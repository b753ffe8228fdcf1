#pragma once
// Tells which trees a power cut may leave.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/mount/tree_history.hpp"

namespace bloscfs::test {

/// The trees that a power cut at one point in time may leave.
class AllowedTrees {
 public:
  AllowedTrees(const TreeHistory& history, TreeHistory::Time cut);

  /// Describes what is wrong with a tree; returns an empty string if nothing is.
  std::string problem_in(const ShownTree& found) const;

 private:
  using Object = TreeHistory::Object;
  /// A directory's node on the disk, and a name in that directory.
  using Place = std::pair<std::uint64_t, std::string>;
  using Namings = std::vector<TreeHistory::Naming>;

  void add_objects(const Place& place, const Namings& namings);
  bool may_be(Object object, const ShownEntry* found) const;
  bool may_be_at(const Place& place, const ShownEntry* found) const;
  std::string parted_links(const ShownTree& found) const;
  std::string lost_object(const ShownTree& found) const;

  struct Allowed {
    std::uint64_t node = 0;             ///< directories only
    std::vector<Fingerprint> contents;  ///< files only
    std::vector<Place> places;
    std::vector<Place> own_places;  ///< name this object at the end, and never another
    std::set<std::size_t> events;   ///< events that changed one of its places
    bool is_durable = false;        ///< has a name from the start
  };
  std::map<Place, Namings> namings_;
  std::map<Object, Allowed> objects_;
};

}  // namespace bloscfs::test
