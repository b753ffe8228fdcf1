#pragma once
// The history of a tree of files, and which parts of it are durable from when on.
//
// A time is a size of the daemon's record. A shorter record has nothing of an operation that began
// at time t. After a cut at t or later, everything that was acknowledged at t must be there.

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
  /// An entry, and the object that it names from then on.
  using Change = std::pair<Entry, Object>;

  /// The history begins with a root that always exists.
  TreeHistory();

  /// Adds a file with these contents. It has no name yet.
  Object add_file(const ByteVector& contents, Time began);
  Object add_directory();
  void write(Object file, const ByteVector& contents, Time began);
  /// Changes several names in one step.
  void name(const std::vector<Change>& changes, Time began);
  void file_is_durable(Object file, Time acknowledged);
  void directory_is_durable(Object directory, Time acknowledged);
  /// Sets the disk's nodes of the directories, in the order in which these were added.
  void set_nodes(const std::vector<std::uint64_t>& nodes);

  Object at(const Entry& entry) const;
  bool is_directory(Object object) const { return known(object).is_directory; }
  std::vector<Change> entries() const;
  std::vector<Entry> names_of(Object object) const;

  /// From `acknowledged` on, only states from number `first` on may be found.
  struct Durable {
    Time acknowledged;
    std::size_t first;
  };
  template <typename State>
  struct Past {
    std::vector<State> states;
    std::vector<Durable> durable;

    /// Returns the states that may be found after a cut.
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
    std::uint64_t node = 0;  ///< directories only
    Past<Version> contents;  ///< files only
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
