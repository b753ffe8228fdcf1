#pragma once
// Random operations on the files of a mount without a kernel, and what they must have made of them.

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
  /// Of objects: a file with another name is another node, and who has the old one open does not
  /// follow it.
  enum class Renames { of_open_files, of_closed_files };

  /// Files are in the root and in its directory "d", which is there.
  explicit RandomFiles(std::uint64_t seed, Renames renames = Renames::of_open_files)
      : renames_(renames), random_(seed) {}

  /// One operation, which is compared with what must come of it.
  void step(InProcess& mount);
  /// All names and contents.
  void compare(InProcess& mount) const;
  /// Before the mount ends.
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
