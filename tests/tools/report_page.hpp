#pragma once
// A page that `b2frame report` has written, as a tree.

#include <memory>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

class ReportPage {
 public:
  /// Throws std::runtime_error, with the place, if the page is not well-formed.
  explicit ReportPage(const std::string& page);

  /// Returns the text of each element that the XPath selects, including the text of its
  /// descendants.
  std::vector<std::string> texts(const std::string& path) const;
  std::size_t count(const std::string& path) const { return texts(path).size(); }
  /// Returns the text of the only such element. Throws std::runtime_error if there is not exactly
  /// one.
  std::string text(const std::string& path) const;

 private:
  struct Tree;
  std::shared_ptr<const Tree> tree_;
};

ReportPage read_report(const fs_std::path& file);

}  // namespace bloscfs::test
