#pragma once
// What other files keep of an array's values: the frame that describes a table, and cached results
// of queries.

#include <optional>
#include <string>

#include "fs/source/local/names/name_services.hpp"

namespace bloscfs::fs {

/// Called without any lock of the tree.
class ValueDependents {
 public:
  explicit ValueDependents(NameServices& services) : services_(services) {}

  /// To be called before values of that file, or of a new one of that full name, change. Throws
  /// EROFS, saying why, for columns of a table that are protected (ProtectedColumns), or whose
  /// table is described inside of a store.
  void require_changeable(NodeId node);
  void require_changeable(NodeId directory, const std::string& full_name);
  /// Removes what python-blosc2 has cached of queries on that array, durably. To be called before
  /// its values change.
  void remove_results(NodeId node);

 private:
  struct Place;
  bool may_have_any(NodeId node) const;
  std::optional<Place> place_of(NodeId node);
  void require_changeable(const Place& place) const;

  NameServices& services_;
};

}  // namespace bloscfs::fs
