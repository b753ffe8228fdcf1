#pragma once
// Does each operation in a plain directory and in a mount, and compares everything that both show.

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/model/operation.hpp"
#include "tests/model/report.hpp"
#include "tests/model/side.hpp"

namespace bloscfs::test {

/// The two sides differ. what() says how, and which operations came before.
struct Difference : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Lockstep {
 public:
  /// `source` is mounted at `mount`.
  Lockstep(const fs_std::path& model, const fs_std::path& mount, const fs_std::path& source);

  /// Throws Difference. If `look` is true, also compares the file's attributes afterwards.
  void step(const Operation& operation, bool look);
  /// Compares all names, attributes and contents.
  void compare_trees();
  /// Compares the trees after a remount, when no file waits for a commit.
  void compare_committed_trees();
  /// Closes mapped and open files on both sides, before an unmount.
  void close_all();
  void moved(const fs_std::path& mount) { mount_.move_root(mount); }

  Side& model() { return model_; }
  const Counts& counts() const { return counts_; }
  /// Returns the last operations, one a line.
  std::string history() const;

 private:
  /// The modification time that the mount showed last.
  struct LastTime {
    timespec modified;
    bool exact;  ///< the file has not changed since
  };

  Outcome perform(const Operation& operation);
  void remember(const Operation& operation, const Outcome& model, const Outcome& mount);
  bool may_refuse(const Operation& operation, int error) const;
  void do_first_half(const Operation& operation);
  void compare(const Operation& operation, const Outcome& model, const Outcome& mount);
  void compare_holes(const Operation& operation, const Outcome& model, const Outcome& mount);
  void check_hole(const ByteVector& contents, std::int64_t begin, std::int64_t end);
  void note_touched(const Operation& operation);
  void note_changed(const struct stat& model);
  void forget_ended_files(const Operation& operation);
  void note_times(const Operation& operation);
  void look_at(const Operation& operation);
  void compare_attributes(const std::string& what, const struct stat& model,
                          const struct stat& mount);
  void check_time(const std::string& what, const struct stat& model, const struct stat& mount);
  void compare_below(const std::string& directory);
  void compare_entry(const std::string& path);
  [[noreturn]] void differ(const std::string& text) const;

  Side model_, mount_;
  const fs_std::path source_;
  Counts counts_;
  std::map<ino_t, LastTime> times_;  ///< by the model's inodes
  std::set<ino_t> mapped_;  ///< changed through a mapping; the kernel decides when to write
  std::deque<std::string> history_;
  bool all_is_committed_ = false;
};

}  // namespace bloscfs::test
