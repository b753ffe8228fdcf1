#pragma once
// The reference files, and what they must show, as their manifests say.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct CorpusEntry {
  fs_std::path file;     ///< absolute
  nlohmann::json facts;  ///< the manifest's object

  std::string text(const char* field) const;  ///< empty when absent or null
  std::string name() const { return text("path"); }
  bool is(const char* expectation) const { return text("expect") == expectation; }
};

/// Entries of `root`/manifest.json that are whole containers (no bare chunks, no stores), without
/// those that need a library which the build has not.
std::vector<CorpusEntry> containers_in(const fs_std::path& root);
/// Those that are bare chunks.
std::vector<CorpusEntry> chunks_in(const fs_std::path& root);

/// Directory of the whole corpus; empty when there is none.
fs_std::path corpus_root();
/// Directories under tests/data whose manifest.json names containers.
std::vector<fs_std::path> data_roots();
/// A python3 that imports numpy; empty when there is none.
std::string numpy_python();

}  // namespace bloscfs::test
