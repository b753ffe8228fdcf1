#pragma once
// The whole page: one file that needs no other file, and no network.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tools/output_file.hpp"
#include "tools/report/section.hpp"

namespace bloscfs::tools {

/// Keeps the sections in a temporary file until write().
class Page {
 public:
  /// Throws std::system_error if the temporary file cannot be created.
  Page();

  /// Returns the id for the next section.
  std::string next_id() const;
  void add(const Section& section);
  bool empty() const { return contents_.empty(); }
  /// `program` is the name and version of the program that made the page.
  void write(const std::string& program, OutputFile& out);

 private:
  struct Entry {
    std::string id, file, summary;
    Health health;
  };

  Markup head(const std::string& title) const;
  Markup contents() const;
  void copy_sections(OutputFile& out);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> sections_;
  std::vector<Entry> contents_;
};

}  // namespace bloscfs::tools
