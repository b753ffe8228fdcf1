#pragma once
// Which trees a power cut may leave.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/mount/tree_history.hpp"

namespace bloscfs::test {

/// Those after a cut at one time.
class AllowedTrees {
 public:
  AllowedTrees(const TreeHistory& history, TreeHistory::Time cut);

  /// What is wrong with a tree; empty if nothing.
  std::string problem_in(const ShownTree& found) const;

 private:
  using Object = TreeHistory::Object;
  /// A directory's node, and a name in it.
  using Place = std::pair<std::uint64_t, std::string>;
  using Namings = std::vector<TreeHistory::Naming>;

  void add_objects(const Place& place, const Namings& namings);
  bool may_be(Object object, const ShownEntry* found) const;
  bool may_be_at(const Place& place, const ShownEntry* found) const;
  std::string parted_links(const ShownTree& found) const;
  std::string lost_object(const ShownTree& found) const;

  struct Allowed {
    std::uint64_t node = 0;             ///< of a directory
    std::vector<Fingerprint> contents;  ///< of a file
    std::vector<Place> places;
    std::vector<Place> own_places;  ///< its names at last, where nothing else was before
    std::set<std::size_t> events;   ///< that changed one of its places
    bool is_durable = false;        ///< has a name from the start
  };
  std::map<Place, Namings> namings_;
  std::map<Object, Allowed> objects_;
};

}  // namespace bloscfs::test
