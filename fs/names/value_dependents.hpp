#pragma once
// The part of the rule on stale indexes (fs/encoding/stale_indexes.hpp) that is about other files
// than the one whose values change: the frame that describes a table, and results of queries.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "fs/names/name_services.hpp"

namespace bloscfs::fs {

/// Called without any lock of the tree.
class ValueDependents {
 public:
  explicit ValueDependents(NameServices& services) : services_(services) {}

  /// Throws EROFS, saying why, where mark() could not do its work for that file, or for a new one
  /// of that full name.
  void require_markable(NodeId node);
  void require_markable(NodeId directory, const std::string& full_name);
  using HomeOf = std::function<std::shared_ptr<ContentHome>(NodeId)>;
  /// Makes it durable that what tells of the file's values is stale. `home_of` makes the home of
  /// the frame that describes its table.
  void mark(NodeId node, const HomeOf& home_of);

 private:
  struct Place;
  struct Table;
  bool may_have_any(NodeId node) const;
  std::optional<Place> place_of(NodeId node);
  std::optional<Table> table_of(const Place& place) const;
  void require_markable(const Place& place) const;
  void mark_table(const Place& place, const Table& table, const HomeOf& home_of);
  void remove_results(const Place& place);

  NameServices& services_;
};

}  // namespace bloscfs::fs
