#pragma once
// All that a tree of files has been, and what of it must survive a power cut.
//
// Times are sizes of the daemon's record: an operation that began at time t is in no record that is
// shorter, and what was acknowledged at t must be there after a cut at t or later.

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/mount/stored_tree.hpp"

namespace bloscfs::test {

/// With the slash behind it; empty for the root.
std::string directory_of(const std::string& path);

class TreeHistory {
 public:
  using Time = std::size_t;
  using File = std::size_t;
  static constexpr File kNone = 0;
  /// A path, and what it names from then on.
  using Change = std::pair<std::string, File>;

  /// A new file with these contents. It has no name yet.
  File add(const ByteVector& contents, Time began);
  void write(File file, const ByteVector& contents, Time began);
  /// Several names change in one step.
  void name(const std::vector<Change>& changes, Time began);
  File file_at(const std::string& path) const;

  void file_is_durable(File file, Time acknowledged);
  /// `directory` is empty for the root, or ends in a slash.
  void directory_is_durable(const std::string& directory, Time acknowledged);

  /// What is wrong with a tree that was found after a cut; empty if nothing.
  std::string problem_in(const ShownTree& found, Time cut) const;

 private:
  struct Version {
    Time began;
    Fingerprint contents;
  };
  struct Naming {
    Time began;
    File file;
    std::size_t event;  ///< equal for names that changed in one step
  };
  /// From `acknowledged` on, nothing before number `first` may be found.
  struct Durable {
    Time acknowledged;
    std::size_t first;
  };
  template <typename State>
  struct Past {
    std::vector<State> states;
    std::vector<Durable> durable;
    std::vector<State> possible(Time cut) const;
  };

  void make_name_durable(const std::string& path, Time acknowledged);
  bool may_be(File file, const Fingerprint& contents, Time cut) const;
  std::string problem_at(const std::string& path, const ShownTree& found, Time cut) const;
  std::string lost_file(const ShownTree& found, Time cut) const;

  std::vector<Past<Version>> files_;  ///< File 1 is the first
  std::map<std::string, Past<Naming>> names_;
  std::size_t events_ = 0;
};

}  // namespace bloscfs::test
