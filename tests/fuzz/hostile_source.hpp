#pragma once
// A SOURCE made from the fuzzer's bytes: containers of tests/data, damaged in places. Also makes
// the changes of other programs while SOURCE is mounted.

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
  /// Replaces SOURCE by a new one.
  void make(InputReader& input);
  /// Changes SOURCE as another program does.
  void change(InputReader& input);

 private:
  void put(InputReader& input);
  std::string pick(InputReader& input) const;

  std::string path_;
  std::vector<Image> images_;
};

}  // namespace bloscfs::fuzz
