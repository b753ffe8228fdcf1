#include "fs/source/services.hpp"

#include <fmt/core.h>

namespace bloscfs::fs {

void ReadingServices::log_bad_data(const std::string& told_path,
                                   const std::exception& error) const {
  log.error(fmt::format("{}: {}", told_path, error.what()));
}

}  // namespace bloscfs::fs
