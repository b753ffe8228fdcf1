#pragma once
// One of the two directories in which the same operations are done, with its open files and its
// mappings.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "tests/support/fd.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// The result of an operation.
struct Outcome {
  int error = 0;           ///< errno; 0 if it worked
  std::int64_t value = 0;  ///< return value of the call
  ByteVector bytes;        ///< the bytes that were read
  std::vector<std::string> names;
  bool is_half_done = false;  ///< a file was saved, but not renamed
};

/// Returns an outcome with the return value of a system call.
Outcome outcome_of(std::int64_t returned);

struct OpenFile {
  Fd fd;
  int flags = 0;
  std::string path;  ///< path that it was opened by
};

/// A shared mapping from the start of a file. It may outlive the descriptor. Where the kernel sends
/// SIGBUS, read() and write() fail with EFAULT.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int fd, std::size_t size, bool writable);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  explicit operator bool() const { return at_ != nullptr; }
  std::size_t size() const { return size_; }
  bool writable() const { return writable_; }
  /// The inode of the file when it was mapped.
  ino_t inode() const { return inode_; }
  /// Returns the present size of the file. Uses a descriptor of its own, which only the model
  /// keeps.
  std::size_t file_size() const;
  void keep_descriptor(int fd);

  Outcome read(std::size_t offset, std::size_t size) const;
  Outcome write(std::size_t offset, const ByteVector& bytes) const;
  Outcome sync() const;

 private:
  std::uint8_t* at_ = nullptr;
  std::size_t size_ = 0;
  bool writable_ = false;
  ino_t inode_ = 0;
  Fd fd_;
};

inline constexpr std::size_t kSlots = 6;
inline constexpr std::size_t kMappings = 3;

class Side {
 public:
  Side(fs_std::path root, bool is_model) : root_(std::move(root)), is_model_(is_model) {}

  const fs_std::path& root() const { return root_; }
  void move_root(fs_std::path root) { root_ = std::move(root); }
  std::string operator/(const std::string& name) const {
    return name.empty() ? root_.string() : (root_ / name).string();
  }
  bool is_model() const { return is_model_; }
  void close_all();

  std::array<OpenFile, kSlots> files;
  std::array<Mapping, kMappings> mappings;

 private:
  fs_std::path root_;
  bool is_model_;
};

}  // namespace bloscfs::test
