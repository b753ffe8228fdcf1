#pragma once
// Where b2frame writes to: stdout, or a file that appears under its name only when it is complete.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "codec/bytes.hpp"
#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "tools/output_name.hpp"

namespace bloscfs::tools {

/// Errors are FileError, which names the output.
class OutputFile {
 public:
  /// "-" is stdout. What is no regular file (a device, a fifo) is written directly. A new file gets
  /// `mode` as the umask leaves it, such as the input's; another one keeps what it has.
  explicit OutputFile(const std::string& path, mode_t mode = 0666);
  /// A file in an open directory, which outlives it: no symlink is followed, and what has the name
  /// is replaced. It gets mode and times of `st`. `shown_name` is for messages.
  OutputFile(const fs::SourceDirectory& directory, const std::string& name, std::string shown_name,
             const struct stat& st);
  void write(codec::Bytes bytes);
  /// Adds zeros: a hole where the file can have one.
  void write_zeros(std::int64_t size);
  /// Gives the file its length and its name.
  void commit();
  /// Bytes that were written.
  std::int64_t size() const { return size_; }

 private:
  void blamed(const std::function<void()>& work) const;

  std::string shown_;               ///< for messages
  std::optional<OutputName> name_;  ///< nullopt when written directly
  frame::UniqueFd fd_;
  std::int64_t size_ = 0;
  mode_t mode_ = 0666;
  std::optional<struct stat> status_;  ///< whose mode and times it gets
};

}  // namespace bloscfs::tools
