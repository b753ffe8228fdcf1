#include "tools/tables/table_column.hpp"

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::tools {

std::shared_ptr<const frame::Snapshot> required_part(const OpenColumnPart& open,
                                                     const std::string& suffix, const char* what) {
  auto part = open(suffix);
  if (!part) codec::throw_malformed(fmt::format("its {} missing", what));
  return part;
}

}  // namespace bloscfs::tools
