#include "tests/support/source_dir.hpp"

#include <cstdlib>
#include <sstream>

#include "tests/support/other_filesystem.hpp"

namespace bloscfs::test {
namespace {

fs_std::path parent_of_sources() {
  if (source_kind().empty()) return fs_std::temp_directory_path();
  static const OtherFilesystem other(source_kind());
  return other.path();
}

}  // namespace

SourceDir::SourceDir() : TempDir(parent_of_sources()) {}

std::string source_kind() {
  const char* const kind = std::getenv("BLOSCFS_TEST_SOURCE");
  return kind != nullptr ? kind : "";
}

bool source_is(std::string_view kinds) {
  std::istringstream words{std::string(kinds)};
  for (std::string word; words >> word;)
    if (word == source_kind()) return true;
  return false;
}

Precondition source_is_not::operator()(boost::unit_test::test_unit_id) const {
  if (holds()) return true;
  return skip(source_kind() + " lacks " + lacking_);
}

}  // namespace bloscfs::test
