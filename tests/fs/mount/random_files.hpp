#pragma once
// Random operations on a mount without a kernel, compared with a model in memory.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "tests/fs/mount/in_process.hpp"

namespace bloscfs::test {

class RandomFiles {
 public:
  /// Says whether files are renamed while they are open. RemoteSource makes a new node for a
  /// renamed file, and handles of the old node do not follow.
  enum class Renames { of_open_files, of_closed_files };

  /// Uses files in the root and in its directory "d", which must exist.
  explicit RandomFiles(std::uint64_t seed, Renames renames = Renames::of_open_files)
      : renames_(renames), random_(seed) {}

  /// Does one operation on the mount and on the model.
  void step(InProcess& mount);
  /// Compares all names and contents with the model.
  void compare(InProcess& mount) const;
  /// Call this before the mount ends.
  void close_all() { open_.clear(); }
  const std::string& last() const { return last_; }

 private:
  using Contents = std::shared_ptr<ByteVector>;
  struct Open {
    InProcess::File file;
    Contents contents;
  };

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::string any_name();
  std::optional<std::string> known_name();
  ByteVector any_bytes();
  std::int64_t any_offset(const ByteVector& contents);
  void open_one(InProcess& mount);
  void write_to(const InProcess::File& file, ByteVector& contents);
  void use_open_one();
  void rename_one(InProcess& mount);

  const Renames renames_;
  std::mt19937_64 random_;
  std::map<std::string, Contents> files_;
  std::list<Open> open_;
  std::string last_;
};

}  // namespace bloscfs::test
