// b2frame list: the names that a mount would show, without mounting, or the keys of a store.

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <variant>

#include <fmt/core.h>
#include <sys/stat.h>

#include "fs/mount/ended_mounts.hpp"
#include "fs/mount/mount_source.hpp"
#include "fs/source/source_root.hpp"
#include "fs/tree/classifier.hpp"
#include "fs/tree/tree.hpp"
#include "fs/view/stored_contents.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// For the indexes of proxies.
constexpr std::size_t kCacheCapacity = std::size_t{16} << 20;

class Lister {
 public:
  explicit Lister(fs::MountSource source)
      : root_(std::move(source.root)),
        classifier_(root_, {false, false}, nullptr),
        tree_(root_, classifier_, std::move(source.single), {}) {}

  /// Prints what is below a directory that is shown as `prefix`, sorted by name.
  void print(fs::NodeId directory, const std::string& prefix) {
    auto entries = tree_.list(directory, [] {});
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.shown_name < b.shown_name; });
    for (const auto& entry : entries) {
      const bool is_directory = S_ISDIR(entry.type);
      fmt::print("{}{}{}\n", prefix, entry.shown_name, is_directory ? "/" : "");
      if (!is_directory) {
        tell_missing(tree_.path(directory), entry.full_name, prefix + entry.shown_name);
        continue;
      }
      const auto found = tree_.enter(directory, entry);
      if (!found) continue;
      print_readable(found->id, prefix + entry.shown_name + "/");
      tree_.forget(found->id, 1);
    }
  }

  bool complete() const { return complete_; }

 private:
  /// Names of files that a mount shows, but that cannot be read there.
  void tell_missing(const fs::SourcePath& directory, const std::string& full_name,
                    const std::string& shown) {
    const fs::SourcePath path = join_path(directory, full_name);
    try {
      const auto object = root_.find_any(path);
      if (!object) return;
      const fs::SourceEntry entry = classifier_.look(path, object);
      if (!entry.may_lack_contents) return;
      readers_ += 2;
      const fs::FrameReader reader(classifier_.open(path, entry), readers_, readers_ + 1, cache_,
                                   stats_);
      if (const auto missing = fs::missing_contents(reader)) complain(shown, *missing);
    } catch (const std::system_error& error) {
      complain(shown, reason(error));
    }
  }

  void print_readable(fs::NodeId directory, const std::string& prefix) {
    try {
      print(directory, prefix);
    } catch (const std::system_error& error) {
      complain(prefix, reason(error));
      complete_ = false;
    }
  }

  fs::SourceRoot root_;
  fs::Classifier classifier_;
  fs::Tree tree_;
  fs::Stats stats_;
  fs::PagePool pages_;
  fs::BlockCache cache_{kCacheCapacity, pages_, stats_};
  std::uint64_t readers_ = 0;
  bool complete_ = true;
};

/// True where a leaf's suffix says that it is one, or a look at its bytes.
bool is_leaf(const frame::PythonStore& store, const frame::Leaf& leaf) {
  const auto* external = std::get_if<frame::ExternalLeaf>(&leaf);
  if (external == nullptr || external->form != frame::LeafForm::other) return true;
  try {
    return store.open(leaf) != nullptr;
  } catch (const std::system_error&) {
    return false;
  }
}

/// Prints the keys of the leaves, those below `key` or its own.
int list_keys(const std::string& file, const frame::PythonStore& store, const std::string& key) {
  const frame::StoreEntry entry = find_entry(store, key);
  const auto print = [&](const std::string& found, const frame::Leaf& leaf) {
    if (is_leaf(store, leaf)) fmt::print("{}\n", found);
  };
  if (entry.leaf) print(key, *entry.leaf);
  if (entry.is_group) store.for_each_leaf(key, print);
  for (const std::string& message : store.messages()) complain(file, message);
  return store.has_map() ? 0 : kExitBadData;
}

int list_names(const std::string& directory) {
  fs::wait_for_ended_mounts(directory);
  Lister lister(fs::open_source(directory, false, false));
  lister.print(fs::kRootId, "");
  return lister.complete() ? 0 : kExitBadData;
}

int list(const std::string& path) {
  if (const auto address = parse_store_address(path))
    return list_keys(address->store, *open_store(address->store), address->key);
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    if (const auto store = find_store(path)) return list_keys(path, *store, "/");
  return list_names(path);
}

}  // namespace

int run_list(const ListOptions& options) {
  return guarded(options.directory, [&] { return list(options.directory); });
}

}  // namespace bloscfs::tools
