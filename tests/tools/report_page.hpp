#pragma once
// A page that b2frame report has written, as a tree.

#include <memory>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

class ReportPage {
 public:
  /// Throws std::runtime_error, saying where, for what is not well-formed.
  explicit ReportPage(const std::string& page);

  /// Text of each element that an XPath leads to, with what is in it.
  std::vector<std::string> texts(const std::string& path) const;
  std::size_t count(const std::string& path) const { return texts(path).size(); }
  /// That of the only one. Throws std::runtime_error.
  std::string text(const std::string& path) const;

 private:
  struct Tree;
  std::shared_ptr<const Tree> tree_;
};

/// The page of a file that was written.
ReportPage read_report(const fs_std::path& file);

}  // namespace bloscfs::test
