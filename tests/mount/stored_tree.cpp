#include "tests/mount/stored_tree.hpp"

#include <stdexcept>
#include <string_view>
#include <vector>

#include "frame/cframe/cframe.hpp"
#include "frame/sframe/sframe.hpp"
#include "fs/source/naming.hpp"
#include "fs/view/file_view.hpp"
#include "tests/frame/frame_builder.hpp"

namespace bloscfs::test {
namespace {

using frame::test::MemoryNode;

std::size_t hash_bytes(const ByteVector& bytes) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::unique_ptr<frame::Snapshot> open_stored(frame::StoreDirectory& directory,
                                             const std::string& name, bool is_directory) {
  if (!is_directory) return frame::open_cframe(directory.open_source(name), {});
  return frame::open_sframe(frame::open_sframe_files(directory.open_directory(name)));
}

void add_paths(const ShownTree& tree, std::uint64_t directory, const std::string& path,
               std::map<std::string, Fingerprint>& result) {
  for (const auto& [name, entry] : tree.at(directory)) {
    const bool is_directory = entry.directory != 0;
    result[path + name + (is_directory ? "/" : "")] = entry.contents;
    if (is_directory) add_paths(tree, entry.directory, path + name + "/", result);
  }
}

}  // namespace

Fingerprint fingerprint(const ByteVector& bytes) { return {bytes.size(), hash_bytes(bytes)}; }

std::map<std::string, Fingerprint> by_path(const ShownTree& tree) {
  std::map<std::string, Fingerprint> result;
  add_paths(tree, frame::test::MemoryDisk::kRoot, {}, result);
  return result;
}

ShownTree TreeReader::read(const std::shared_ptr<frame::test::MemoryDisk>& disk) {
  disk_ = disk;
  ShownTree tree;
  read_directory(disk->root(), frame::test::MemoryDisk::kRoot, {}, tree);
  return tree;
}

void TreeReader::read_directory(const std::shared_ptr<frame::StoreDirectory>& directory,
                                std::uint64_t node, const std::string& path, ShownTree& tree) {
  std::vector<fs::NamedEntry> names;
  std::vector<ShownEntry> entries;
  for (const auto& [name, number] : disk_->nodes.at(node).entries) {
    const MemoryNode& entry = disk_->nodes.at(number);
    if (fs::is_temporary(name) || fs::is_lock_file(name)) continue;
    if (entry.is_directory && entry.entries.count("chunks.b2frame") == 0) {
      read_directory(directory->open_directory(name), number, path + name + "/", tree);
      names.push_back({name, fs::ShownAs::itself});
      entries.push_back({number});
      continue;
    }
    try {
      const Shown found = shown(*directory, name, number);
      names.push_back({name, found.is_array ? fs::ShownAs::array : fs::ShownAs::flat});
      entries.push_back({0, found.contents});
    } catch (const std::exception& error) {
      throw std::runtime_error(path + name + ": " + error.what());
    }
  }
  const std::vector<std::string> shown_as = fs::shown_names(names);
  auto& result = tree[node];
  for (std::size_t i = 0; i < names.size(); ++i) result[shown_as[i]] = entries[i];
}

TreeReader::Shown TreeReader::shown(frame::StoreDirectory& directory, const std::string& name,
                                    std::uint64_t node) {
  const auto [entry, is_new] = known_.try_emplace(hash_of(node));
  if (!is_new) return entry->second;
  try {
    const auto snapshot = open_stored(directory, name, disk_->nodes.at(node).is_directory);
    const fs::ViewShape shape = fs::view_shape(snapshot->info(), false);
    ByteVector bytes = shape.header;
    const ByteVector items = frame::test::read_all(*snapshot);
    bytes.insert(bytes.end(), items.begin(), items.end());
    return entry->second = {shape.is_array, fingerprint(bytes)};
  } catch (const std::exception&) {
    known_.erase(entry);
    throw;
  }
}

std::size_t TreeReader::hash_of(std::uint64_t node) const {
  const MemoryNode& entry = disk_->nodes.at(node);
  std::size_t hash = hash_bytes(entry.bytes);
  for (const auto& [name, number] : entry.entries)
    hash = hash * 31 + std::hash<std::string>()(name) + 7 * hash_of(number);
  return hash;
}

}  // namespace bloscfs::test
