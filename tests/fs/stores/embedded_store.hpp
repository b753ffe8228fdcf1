#pragma once
// A store that is a directory with embedded leaves only, and what a mount shows of it.

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {

inline const fs_std::path kEmbedded =
    fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores/embed0.b2e";
inline constexpr uid_t kOther = 12345;

/// Makes a caller who has no groups but those of this process.
inline fs::Caller other_caller() {
  fs::Caller caller;
  caller.user = caller.group = kOther;
  caller.thread = ::gettid();
  return caller;
}

using Leaves = std::map<std::string, ByteVector>;

/// A store s.b2d in its own SOURCE. All of its 11 leaves are embedded.
struct EmbeddedStore {
  EmbeddedStore() : EmbeddedStore("s.b2d") {}
  explicit EmbeddedStore(const std::string& name) : path(source / name) {
    fs_std::create_directories(path);
    fs_std::copy(kEmbedded, path / "embed.b2e");
    fs_std::permissions(path / "embed.b2e", fs_std::perms(0644));
    fs_std::permissions(path, fs_std::perms(0755));
    fs_std::permissions(source.path(), fs_std::perms(0755));
  }
  const TempDir source;
  const fs_std::path path;
};

/// Makes an embed.b2e that holds these frames, by key.
inline ByteVector embed_frame(const Leaves& leaves) {
  ByteVector heap;
  nlohmann::json map = nlohmann::json::object();
  for (const auto& [key, leaf] : leaves) {
    map[key] = {{"offset", heap.size()}, {"length", leaf.size()}};
    heap.insert(heap.end(), leaf.begin(), leaf.end());
  }
  Cut cut;
  cut.metalayers = {{"b2tree", nlohmann::json::to_msgpack({{"version", 1}})}};
  cut.vlmetalayers = {
      {"estore_metadata",
       nlohmann::json::to_msgpack({{"embed_map", map}, {"current_offset", heap.size()}})}};
  return flat_frame(heap, cut);
}

inline void read_leaves(InProcess& mount, const std::string& path, Leaves& leaves) {
  for (const std::string& name : mount.names(path)) {
    const std::string inside = path + "/" + name;
    if (S_ISDIR(mount.stat(inside).st_mode))
      read_leaves(mount, inside, leaves);
    else
      leaves[inside] = mount.read(inside);
  }
}

inline Leaves leaves_of(InProcess& mount, const std::string& path = "s") {
  Leaves leaves;
  read_leaves(mount, path, leaves);
  return leaves;
}

inline const std::string kLeaf = "s/x12/leaf9.npy";

}  // namespace bloscfs::test
