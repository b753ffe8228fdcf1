#pragma once
// Paths below a root. '/' separates the components; the empty path is the root.

#include <string>

namespace bloscfs::fs {

inline std::string path_in(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

inline std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

inline std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace bloscfs::fs
