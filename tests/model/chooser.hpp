#pragma once
// Chooses operations and their arguments: the same ones for the same seed and model.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/model/operation.hpp"
#include "tests/model/side.hpp"

namespace bloscfs::test {

/// Largest size that a file gets by chance.
inline constexpr std::int64_t kMaxFileSize = 3 << 19;

/// Names that a sequence uses, so few that they meet.
struct NamePool {
  std::vector<std::string> files, directories;
};

class Chooser {
 public:
  Chooser(std::uint64_t seed, NamePool names, const OperationKinds& kinds, const Side& model);

  Operation next();

  const Side& model() const { return model_; }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool chance(unsigned percent) { return below(100) < percent; }
  std::uint64_t seed() { return random_(); }

  const std::string& file() { return one_of(names_.files); }
  const std::string& directory() { return one_of(names_.directories); }
  /// A file's name most of the time.
  const std::string& path() { return chance(85) ? file() : directory(); }
  /// A name that is there, if one is found quickly.
  const std::string& existing_path();
  const std::string& existing_file();
  bool has_links(const std::string& path) const;

  bool open_slot(std::size_t& slot);
  bool open_mapping(std::size_t& slot);
  /// Near the boundaries of chunks and blocks, within the file, or behind its end.
  std::int64_t offset(std::int64_t file_size);
  std::int64_t length();
  ByteVector bytes(std::size_t size);
  std::int64_t size_of(std::size_t slot) const;
  timespec past_time();

 private:
  const std::string& one_of(const std::vector<std::string>& words) {
    return words[below(words.size())];
  }
  bool exists(const std::string& name) const;

  std::mt19937_64 random_;
  const NamePool names_;
  std::vector<const OperationKind*> lots_;
  const Side& model_;
};

}  // namespace bloscfs::test
