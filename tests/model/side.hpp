#pragma once
// One of the two directories in which the same operations are done: files that are open there, and
// parts of them that are mapped.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "tests/support/fd.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// What an operation gave.
struct Outcome {
  int error = 0;           ///< errno, 0 when it worked
  std::int64_t value = 0;  ///< what the call returned
  ByteVector bytes;        ///< what was read
  std::vector<std::string> names;
  bool is_half_done = false;  ///< a file was saved, but not given its name
};

/// An outcome from what a system call returned.
Outcome outcome_of(std::int64_t returned);

struct OpenFile {
  Fd fd;
  int flags = 0;
  std::string path;  ///< it was opened by
};

/// A shared mapping from the start of a file on, which may outlive the descriptor. Copying gives
/// EFAULT where the kernel gives SIGBUS.
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
  /// Of the file, when it was mapped.
  ino_t inode() const { return inode_; }
  /// Size of the file now; asks a descriptor of its own, which only the model keeps.
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
