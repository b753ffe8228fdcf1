#pragma once
// What diff prints.

#include <string>

namespace bloscfs::tools {

class DifferenceReport {
 public:
  /// Characters of a value that a line shows.
  static constexpr std::size_t kMaxShown = 60;

  /// The names are as messages have them. `is_brief`: one line says that there is a difference.
  DifferenceReport(std::string first, std::string other, bool is_brief);

  bool has_any() const { return has_any_; }
  /// False where all that is asked is known.
  bool goes_on() const { return !has_any_ || !is_brief_; }
  void tell(const std::string& difference);

  /// A value or a name from a file, in one line.
  static std::string shortened(std::string text);

 private:
  const std::string first_, other_;
  const bool is_brief_;
  bool has_any_ = false;
};

}  // namespace bloscfs::tools
