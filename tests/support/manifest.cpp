#include "tests/support/manifest.hpp"

#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/support/subprocess.hpp"

namespace bloscfs::test {
namespace {

#ifdef BLOSCFS_HAS_ZFP
constexpr bool kHasZfp = true;
#else
constexpr bool kHasZfp = false;
#endif

/// True if this build has the library that the entry needs.
bool can_be_read(const CorpusEntry& entry) { return kHasZfp || entry.text("needs") != "zfp"; }

std::vector<CorpusEntry> entries_of(const fs_std::path& root,
                                    const std::set<std::string>& containers) {
  std::ifstream file(root / "manifest.json");
  std::vector<CorpusEntry> entries;
  for (auto& facts : nlohmann::json::parse(file)) {
    CorpusEntry entry{root / facts.at("path").get<std::string>(), facts};
    if (containers.count(entry.text("container")) > 0 && can_be_read(entry))
      entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

std::string CorpusEntry::text(const char* field) const {
  const auto found = facts.find(field);
  return found == facts.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

std::vector<CorpusEntry> containers_in(const fs_std::path& root) {
  return entries_of(root, {"cframe", "sframe", "bloscpack"});
}

std::vector<CorpusEntry> chunks_in(const fs_std::path& root) { return entries_of(root, {"chunk"}); }

fs_std::path corpus_root() {
  const char* given = std::getenv("BLOSCFS_CORPUS");
  const fs_std::path root =
      given != nullptr ? fs_std::path(given)
                       : fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / ".." / "shared" / "corpus";
  std::error_code ignored;
  return fs_std::exists(root / "manifest.json", ignored) ? fs_std::canonical(root) : fs_std::path();
}

std::vector<fs_std::path> data_roots() {
  std::vector<fs_std::path> roots;
  const fs_std::path data = fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests" / "data";
  for (const auto& entry : fs_std::recursive_directory_iterator(data))
    if (entry.path().filename() == "manifest.json" &&
        !containers_in(entry.path().parent_path()).empty())
      roots.push_back(entry.path().parent_path());
  return roots;
}

std::string numpy_python() {
  static const std::string found = [] {
    // Only the distribution's own python3 has the distribution's numpy. Another python3 may come
    // before it in PATH.
    for (const char* python : {"python3", "/usr/bin/python3"})
      if (run({python, "-c", "import numpy"}).ok()) return std::string(python);
    return std::string();
  }();
  return found;
}

}  // namespace bloscfs::test
