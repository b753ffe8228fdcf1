#include "fs/source/local/files/source_path.hpp"

namespace bloscfs::fs {

Identity identity_of(const struct stat& st) { return {st.st_dev, st.st_ino}; }

std::string join_path(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

const std::shared_ptr<SourcePath::Step>& SourcePath::as_step() const {
  if (!entered_)
    entered_ = std::make_shared<Step>(Step{text_, above_, relative_path_, expected_identity_, {}});
  return entered_;
}

SourcePath join_path(const SourcePath& directory, const std::string& name) {
  if (directory.empty()) return {name};
  SourcePath path;
  path.text_ = join_path(directory.text_, name);
  // The directory becomes a step of its own that keeps the identity meant. It is checked there, and
  // not only at the end of the path.
  path.above_ = directory.as_step();
  path.relative_path_ = name;
  return path;
}

}  // namespace bloscfs::fs
