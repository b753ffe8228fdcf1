#pragma once
// Directories of SOURCE, and the names that a mount must show for them.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Contents of every flat file; elements and NPY file of every array (3 by 5, "<i4").
std::string flat_text();
std::string element_text();
std::string npy_text();

/// Puts containers and other files into a directory of SOURCE.
class Maker {
 public:
  explicit Maker(fs_std::path directory);
  fs_std::path at(const std::string& name) const { return directory_ / name; }
  void flat(const std::string& name) const;
  void array(const std::string& name) const;
  void sparse(const std::string& name) const;
  void sparse_array(const std::string& name) const;
  void bloscpack(const std::string& name) const;
  void bloscpack_array(const std::string& name) const;
  void plain(const std::string& name) const;  ///< contains "plain " and the name
  void directory(const std::string& name) const;
  void fifo(const std::string& name) const;
  void link(const std::string& name, const std::string& target) const;

 private:
  fs_std::path directory_;
};

/// The kind of object that is shown under a name.
enum class Kind { flat, array, raw_array, plain, directory, fifo, link, frame_bytes };

struct Directory {
  std::string name;
  std::function<void(const Maker&)> make;
  std::map<std::string, Kind> shown;
  std::vector<std::string> absent;  ///< names that a lookup must not find either
};

/// The examples in the description of the naming rules.
std::vector<Directory> directories_of_the_table();
/// Name collisions, hidden files, and objects that are not files.
std::vector<Directory> more_directories();

}  // namespace bloscfs::test
