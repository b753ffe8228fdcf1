#pragma once
// Text in aligned columns.

#include <cstdint>
#include <string>
#include <vector>

namespace bloscfs::tools {

/// Prints rows to stdout, in parts whose columns are as wide as the widest text so far: memory is
/// bounded, however many rows there are.
class Columns {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Columns(std::vector<Column> columns);

  /// A text for each column; the last one's may be of any length.
  void add(std::vector<std::string> texts);
  /// Prints what is not printed yet, below the titles; nothing where there never was a row.
  void finish();

 private:
  void print(const std::vector<std::string>& texts) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;  ///< in characters
  std::vector<std::vector<std::string>> rows_;
  bool has_titles_ = false;
};

/// "999", "1.5K", "12M": at most four characters and a unit of 1024 bytes, rounded up as ls -h
/// does.
std::string human_size(std::int64_t bytes);

}  // namespace bloscfs::tools
