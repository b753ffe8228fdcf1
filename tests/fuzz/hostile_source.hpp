#pragma once
// A SOURCE that the fuzzer's bytes make: containers of tests/data, damaged in places, and what
// other programs do to them while they are mounted.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/input_reader.hpp"

namespace bloscfs::fuzz {

/// A container: one file without a name, or the files of a sparse frame.
struct Image {
  bool is_directory = false;
  std::vector<std::pair<std::string, std::vector<std::uint8_t>>> files;
};

class HostileSource {
 public:
  HostileSource();
  ~HostileSource();
  HostileSource(const HostileSource&) = delete;
  HostileSource& operator=(const HostileSource&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<Image>& images() const { return images_; }
  /// In place of what was there.
  void make(InputReader& input);
  /// As another program does.
  void change(InputReader& input);

 private:
  void put(InputReader& input);
  std::string pick(InputReader& input) const;

  std::string path_;
  std::vector<Image> images_;
};

}  // namespace bloscfs::fuzz
