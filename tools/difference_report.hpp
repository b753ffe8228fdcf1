#pragma once
// Prints what diff finds.

#include <string>

namespace bloscfs::tools {

class DifferenceReport {
 public:
  /// Maximum number of characters of a value in a line.
  static constexpr std::size_t kMaxShown = 60;

  /// `first` and `other` are the names for messages. With `is_brief`, prints a single line that
  /// says that the two differ.
  DifferenceReport(std::string first, std::string other, bool is_brief);

  bool has_any() const { return has_any_; }
  /// False if further differences would not be printed.
  bool goes_on() const { return !has_any_ || !is_brief_; }
  void tell(const std::string& difference);

  /// Returns a value or a name from a file, shortened and without control characters.
  static std::string shortened(std::string text);

 private:
  const std::string first_, other_;
  const bool is_brief_;
  bool has_any_ = false;
};

}  // namespace bloscfs::tools
