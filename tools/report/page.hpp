#pragma once
// The whole page: one file that needs no other, and asks no network for anything.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tools/output_file.hpp"
#include "tools/report/section.hpp"

namespace bloscfs::tools {

/// Keeps what sections say in a temporary file until all are there.
class Page {
 public:
  /// Throws std::system_error where there is no room for that file.
  Page();

  /// Id of the section that is added next.
  std::string next_id() const;
  void add(const Section& section);
  bool empty() const { return contents_.empty(); }
  /// `program` is who made it.
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
