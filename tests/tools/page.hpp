#pragma once
// A manual page in mdoc: what it names.

#include <set>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct Page {
  std::string name;                    ///< without its section
  std::set<std::string> flags;         ///< anywhere, with their dashes
  std::set<std::string> listed_flags;  ///< that have an item of a list
  std::set<std::string> listed_words;  ///< the same of subcommands and mount options
  std::set<std::string> references;    ///< names of other pages
  std::vector<std::string> literals;   ///< lines that are shown as they are: command lines
};

Page read_page(const fs_std::path& file);
/// The folder of the pages.
fs_std::path pages_folder();

}  // namespace bloscfs::test
