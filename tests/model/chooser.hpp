#pragma once
// Chooses operations and their arguments. The choice depends only on the seed and the model.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/model/operation.hpp"
#include "tests/model/side.hpp"

namespace bloscfs::test {

/// Largest size of a file that is chosen at random.
inline constexpr std::int64_t kMaxFileSize = 3 << 19;

/// The names in a sequence. There are few, so that operations meet on them.
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
  /// Returns a file's name in most cases.
  const std::string& path() { return chance(85) ? file() : directory(); }
  /// Returns a name that exists, if a few random choices find one.
  const std::string& existing_path();
  const std::string& existing_file();
  bool has_links(const std::string& path) const;

  bool open_slot(std::size_t& slot);
  bool open_mapping(std::size_t& slot);
  /// Returns an offset near the boundary of a chunk or a block, within the file, or after its end.
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
