#include "tests/mount/stored_tree.hpp"

#include <stdexcept>
#include <string_view>
#include <vector>

#include "frame/cframe.hpp"
#include "frame/sframe.hpp"
#include "fs/file_view.hpp"
#include "fs/naming.hpp"
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

}  // namespace

Fingerprint fingerprint(const ByteVector& bytes) { return {bytes.size(), hash_bytes(bytes)}; }

ShownTree TreeReader::read(const std::shared_ptr<frame::test::MemoryDisk>& disk) {
  disk_ = disk;
  ShownTree tree;
  read_directory(disk->root(), frame::test::MemoryDisk::kRoot, {}, tree);
  return tree;
}

void TreeReader::read_directory(const std::shared_ptr<frame::StoreDirectory>& directory,
                                std::uint64_t node, const std::string& path, ShownTree& tree) {
  std::vector<fs::NamedEntry> names;
  std::vector<Fingerprint> contents;
  for (const auto& [name, number] : disk_->nodes.at(node).entries) {
    const MemoryNode& entry = disk_->nodes.at(number);
    if (fs::is_temporary(name)) continue;
    if (entry.is_directory && entry.entries.count("chunks.b2frame") == 0) {
      read_directory(directory->open_directory(name), number, path + name + "/", tree);
      continue;
    }
    try {
      const Shown found = shown(*directory, name, number);
      names.push_back({name, found.is_array ? fs::ShownAs::array : fs::ShownAs::flat});
      contents.push_back(found.contents);
    } catch (const std::exception& error) {
      throw std::runtime_error(path + name + ": " + error.what());
    }
  }
  const std::vector<std::string> shown_as = fs::shown_names(names);
  for (std::size_t i = 0; i < names.size(); ++i) tree[path + shown_as[i]] = contents[i];
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
