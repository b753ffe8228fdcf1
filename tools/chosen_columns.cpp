#include "tools/chosen_columns.hpp"

#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bloscfs::tools {

void refuse_column(const std::string& name, const std::vector<std::string>& columns) {
  constexpr std::size_t kMostNamed = 20;
  const std::size_t named = std::min(columns.size(), kMostNamed);
  std::string text = fmt::format(
      "{}", fmt::join(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (named < columns.size()) text += fmt::format(" and {} more", columns.size() - named);
  throw UsageError(fmt::format("has no column '{}'; the columns are {}", name, text));
}

}  // namespace bloscfs::tools
