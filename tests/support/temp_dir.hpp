#pragma once
// Files of a test: a temporary directory, and reads and writes of whole files.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bloscfs::test {

namespace fs_std = std::filesystem;
using ByteVector = std::vector<std::uint8_t>;

/// A fresh directory. The destructor removes it with everything in it.
class TempDir {
 public:
  TempDir() : TempDir(fs_std::temp_directory_path()) {}
  explicit TempDir(const fs_std::path& parent);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const fs_std::path& path() const { return path_; }
  fs_std::path operator/(std::string_view name) const { return path_ / name; }

 private:
  fs_std::path path_;
};

/// Reads the whole file. Throws std::system_error with the errno of the failing call.
ByteVector read_file(const fs_std::path& path);
/// Creates the file, or overwrites an existing one in place. Throws std::system_error.
void write_file(const fs_std::path& path, const ByteVector& bytes);
void write_file(const fs_std::path& path, std::string_view text);
/// Throws std::system_error for errno.
[[noreturn]] void throw_errno(const std::string& what);

/// Reads the whole file. Returns the errno, or 0 if that succeeds.
int errno_of_reading(const fs_std::path& path);

}  // namespace bloscfs::test
