#pragma once
// The names in a manual page, which is written in mdoc.

#include <set>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct Page {
  std::string name;                    ///< without its section
  std::set<std::string> flags;         ///< anywhere in the page, with their dashes
  std::set<std::string> listed_flags;  ///< options that have a list item
  std::set<std::string> listed_words;  ///< subcommands and mount options that have a list item
  std::set<std::string> references;    ///< names of other pages
  std::vector<std::string> literals;   ///< lines that are printed as they are: command lines
  std::vector<std::vector<std::string>> examples;  ///< literals in EXAMPLES, one vector per block
};

Page read_page(const fs_std::path& file);
fs_std::path pages_folder();

}  // namespace bloscfs::test
