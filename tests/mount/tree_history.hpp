#pragma once
// All that a tree of files has been, and from when on what of it is durable.
//
// Times are sizes of the daemon's record: an operation that began at time t is in no record that is
// shorter, and what was acknowledged at t must be there after a cut at t or later.

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/mount/stored_tree.hpp"

namespace bloscfs::test {

class TreeHistory {
 public:
  using Time = std::size_t;
  using Object = std::size_t;  ///< a file or a directory
  static constexpr Object kNone = 0, kRoot = 1;
  using Entry = std::pair<Object, std::string>;  ///< a directory, and a name in it
  /// An entry, and what it names from then on.
  using Change = std::pair<Entry, Object>;

  /// With a root that is always there.
  TreeHistory();

  /// A new file with these contents. It has no name yet.
  Object add_file(const ByteVector& contents, Time began);
  Object add_directory();
  void write(Object file, const ByteVector& contents, Time began);
  /// Several names change in one step.
  void name(const std::vector<Change>& changes, Time began);
  void file_is_durable(Object file, Time acknowledged);
  void directory_is_durable(Object directory, Time acknowledged);
  /// Nodes that stand for the directories, in the order in which these were added.
  void set_nodes(const std::vector<std::uint64_t>& nodes);

  // --- what there is now

  Object at(const Entry& entry) const;
  bool is_directory(Object object) const { return known(object).is_directory; }
  std::vector<Change> entries() const;
  std::vector<Entry> names_of(Object object) const;

  // --- what there was

  /// From `acknowledged` on, nothing before number `first` may be found.
  struct Durable {
    Time acknowledged;
    std::size_t first;
  };
  template <typename State>
  struct Past {
    std::vector<State> states;
    std::vector<Durable> durable;

    /// What may be found after a cut.
    std::vector<State> possible(Time cut) const {
      std::size_t first = 0;
      for (const Durable& at : durable)
        if (at.acknowledged <= cut) first = std::max(first, at.first);
      std::vector<State> result;
      for (std::size_t i = first; i < states.size() && states[i].began <= cut; ++i)
        result.push_back(states[i]);
      return result;
    }
  };
  struct Version {
    Time began;
    Fingerprint contents;
  };
  struct Naming {
    Time began;
    Object object;
    std::size_t event;  ///< equal for names that changed in one step
  };
  struct KnownObject {
    bool is_directory = false;
    std::uint64_t node = 0;  ///< of a directory
    Past<Version> contents;  ///< of a file
  };

  const KnownObject& known(Object object) const { return objects_[object - 1]; }
  const std::map<Entry, Past<Naming>>& names() const { return names_; }

 private:
  void make_name_durable(const Entry& entry, Time acknowledged);

  std::vector<KnownObject> objects_;
  std::map<Entry, Past<Naming>> names_;
  std::size_t events_ = 0;
};

}  // namespace bloscfs::test
