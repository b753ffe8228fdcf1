#pragma once
// Reads the manifests of the reference files, which say what each file must show.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct CorpusEntry {
  fs_std::path file;     ///< absolute
  nlohmann::json facts;  ///< the entry's object in the manifest

  std::string text(const char* field) const;  ///< empty unless the field is a string
  std::string name() const { return text("path"); }
  bool is(const char* expectation) const { return text("expect") == expectation; }
};

/// Returns the entries of `root`/manifest.json that are whole containers (no bare chunks, no
/// stores). It leaves out entries that need a library that this build lacks.
std::vector<CorpusEntry> containers_in(const fs_std::path& root);
/// Returns the entries of `root`/manifest.json that are bare chunks. It leaves out entries that
/// need a library that this build lacks.
std::vector<CorpusEntry> chunks_in(const fs_std::path& root);

/// Returns the directory of the larger corpus: BLOSCFS_CORPUS, or ../shared/corpus next to the
/// source tree. The path is empty if that directory has no manifest.
fs_std::path corpus_root();
/// Returns the directories under tests/data whose manifest.json names containers.
std::vector<fs_std::path> data_roots();
/// Returns a python3 that can import numpy. The name is empty if the machine has none.
std::string numpy_python();

}  // namespace bloscfs::test
