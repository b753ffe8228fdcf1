#pragma once
// Full names that containers gave up, as long as a power cut might bring them back. Beside another
// one that is shown alike by then, neither would be shown as before.

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "fs/naming.hpp"
#include "fs/source_root.hpp"

namespace bloscfs::fs {

/// For the one who changes names at a time. Errors are std::system_error with the errno.
class FreedNames {
 public:
  FreedNames(const SourceRoot& root, std::string usual_suffix)
      : root_(root), usual_suffix_(std::move(usual_suffix)) {}

  /// Before a container's name goes: failing must leave it as it is.
  void note(const SourceDirectory& directory, const std::string& full_name, ShownAs shown);
  /// Before a container gets a name: makes it durable that others, shown alike, have left.
  void before_taking(const SourceDirectory& directory, const std::string& full_name, ShownAs shown);

 private:
  using Shown = std::tuple<dev_t, ino_t, std::string>;  ///< directory, and name in the mount

  static Shown key(const SourceDirectory& directory, const std::string& shown_name);

  const SourceRoot& root_;
  const std::string usual_suffix_;
  std::multimap<Shown, std::string> names_;  ///< full ones
};

}  // namespace bloscfs::fs
