#pragma once
// Where b2frame writes to: stdout, or a file that appears under its name only when it is complete.

#include <cstdint>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "codec/bytes.hpp"
#include "frame/store/byte_source.hpp"
#include "fs/source/source_directory.hpp"

namespace bloscfs::tools {

/// The name itself, or what a symlink of that name leads to, so that it is not replaced.
std::string follow_symlink(const std::string& path);

/// True if both are there, and lead to the same file.
bool same_file(const std::string& a, const std::string& b);

/// A directory in which files are made. Throws std::system_error.
frame::UniqueFd open_directory(const std::string& path);

/// Errors are FileError, which names the output.
class OutputFile {
 public:
  /// "-" is stdout. What is no regular file (a device, a fifo) is written directly.
  explicit OutputFile(const std::string& path);
  /// A file in an open directory, which outlives it: no symlink is followed, and what has the name
  /// is replaced. It gets mode and times of `st`. `shown_name` is for messages.
  OutputFile(const fs::SourceDirectory& directory, const std::string& name, std::string shown_name,
             const struct stat& st);
  /// Removes what was written unless commit() was reached.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(codec::Bytes bytes);
  /// Adds zeros: a hole where the file can have one.
  void write_zeros(std::int64_t size);
  /// Gives the file its length and its name.
  void commit();

 private:
  void create_temporary(const std::string& path);

  std::string name_;  ///< as given, for messages
  frame::UniqueFd fd_;
  std::string path_;       ///< final name; empty when written directly
  std::string temporary_;  ///< what commit() renames; empty when written directly
  std::int64_t size_ = 0;
  std::optional<struct stat> status_;  ///< whose mode and times it gets
};

}  // namespace bloscfs::tools
