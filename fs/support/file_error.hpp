#pragma once
// An error of a file other than the one that the program works on.

#include <stdexcept>
#include <string>
#include <utility>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {

/// what() does not include the file's name; the code that reports the error adds file().
class FileError : public std::runtime_error {
 public:
  FileError(std::string file, const std::string& what)
      : std::runtime_error(what), file_(std::move(file)) {}
  /// Uses the text of an errno value.
  FileError(std::string file, int error)
      : FileError(std::move(file), frame::errno_code(error).message()) {}
  const std::string& file() const { return file_; }

 private:
  std::string file_;
};

}  // namespace bloscfs::fs
