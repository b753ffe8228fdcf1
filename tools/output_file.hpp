#pragma once
// The output of b2frame: stdout, or a file that gets its name only when it is complete.

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

/// All errors are FileError, which names the output.
class OutputFile {
 public:
  /// "-" means stdout. If `path` is not a regular file (a device, a FIFO), it is written directly.
  /// A new file gets `mode`, such as the input's mode, as the umask allows. A replaced file keeps
  /// its mode.
  explicit OutputFile(const std::string& path, mode_t mode = 0666);
  /// Writes a file in an open directory, which must outlive the object. Does not follow a symlink,
  /// but replaces any file of that name. The file gets the mode and times of `st`. `shown_name` is
  /// for messages.
  OutputFile(const fs::SourceDirectory& directory, const std::string& name, std::string shown_name,
             const struct stat& st);
  void write(codec::Bytes bytes);
  /// Adds zeros, as a hole if the file can have holes.
  void write_zeros(std::int64_t size);
  /// Sets the length of the file, and gives it its name.
  void commit();
  /// Returns how many bytes were written.
  std::int64_t size() const { return size_; }

 private:
  /// Runs `work`. Turns its std::system_error into a FileError that names the output.
  void blamed(const std::function<void()>& work) const;

  std::string shown_;               ///< name for messages
  std::optional<OutputName> name_;  ///< nullopt if written directly
  frame::UniqueFd fd_;
  std::int64_t size_ = 0;
  mode_t mode_ = 0666;
  std::optional<struct stat> status_;  ///< source of the mode and times
};

}  // namespace bloscfs::tools
