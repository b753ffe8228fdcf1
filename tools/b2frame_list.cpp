// b2frame list: the names that a mount would show, without mounting, or the keys of a store.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/error.hpp"
#include "frame/container/missing_decoder.hpp"
#include "frame/header/msgpack_json.hpp"
#include "frame/open/open.hpp"
#include "frame/remote/open_remote.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/mount/mount_source.hpp"
#include "fs/source/source_root.hpp"
#include "fs/stores/stores.hpp"
#include "fs/tree/classifier.hpp"
#include "fs/tree/tree.hpp"
#include "fs/view/stored_contents.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/remote_list.hpp"
#include "tools/store_address.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {
namespace {

/// For the indexes of proxies.
constexpr std::size_t kListCacheCapacity = std::size_t{16} << 20;

const char* type_name(mode_t type) {
  if (S_ISREG(type)) return "file";
  if (S_ISDIR(type)) return "directory";
  return S_ISLNK(type) ? "symlink" : "other";
}

class Lister {
 public:
  Lister(fs::MountSource source, bool as_json)
      : json_(as_json),
        root_(std::move(source.root)),
        classifier_(root_, {}, nullptr),
        tree_(root_, classifier_, std::move(source.single), {}) {}

  /// Prints what is below a directory that is shown as `prefix`, sorted by name.
  void print(fs::NodeId directory, const std::string& prefix) {
    const bool is_in_file = stores_.is_part(directory);
    auto entries = is_in_file ? stores_.list(directory, [] {}) : tree_.list(directory, [] {});
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.shown_name < b.shown_name; });
    for (const auto& entry : entries) {
      if (is_in_file || entry.is_beside)
        print_part(directory, entry, prefix + entry.shown_name);
      else
        print_entry(tree_.path(directory), entry, prefix + entry.shown_name);
      if (!S_ISDIR(entry.type)) continue;
      const auto found = enter(directory, entry);
      if (!found) continue;
      print_readable(found->id, prefix + entry.shown_name + "/");
      forget(found->id);
    }
    stores_.require_listed(directory);
  }

  bool complete() const { return complete_; }

 private:
  /// What keeps an entry from being read.
  struct Mark {
    Health health = Health::ok;
    std::string reason;
    bool is_told = false;  ///< by the log, or by who goes down into a directory
  };

  std::optional<fs::Tree::Found> enter(fs::NodeId directory,
                                       const fs::Tree::DirectoryEntry& entry) {
    return stores_.is_part(directory) ? stores_.lookup(directory, entry.shown_name)
                                      : tree_.enter(directory, entry);
  }

  void forget(fs::NodeId node) {
    if (fs::Stores::holds(node))
      stores_.forget(node, 1);
    else
      tree_.forget(node, 1);
  }

  /// Of a store, without a file of its own; a leaf is looked at.
  void print_part(fs::NodeId directory, const fs::Tree::DirectoryEntry& entry,
                  const std::string& shown) {
    std::string stored;
    std::optional<std::int64_t> size;
    Mark mark;
    try {
      const auto found = enter(directory, entry);
      if (!found) return;
      stored = stores_.told_path(found->id);
      if (S_ISREG(entry.type)) {
        size = found->attributes.st_size;
        const auto frame = stores_.frame_of(found->id);
        if (const auto missing = frame ? frame::missing_decoder(*frame) : std::nullopt)
          mark = {Health::unsupported, *missing};
      }
      forget(found->id);
    } catch (const std::system_error& error) {
      mark = {health_of(error), reason(error)};
    }
    if (!json_) {
      fmt::print("{}{}\n", shown, S_ISDIR(entry.type) ? "/" : "");
      if (mark.health != Health::ok) complain(shown, mark.reason);
      return;
    }
    nlohmann::json line = {{"name", shown},
                           {"stored", stored},
                           {"type", type_name(entry.type)},
                           {"frame", S_ISREG(entry.type)},
                           {"status", health_name(mark.health)}};
    if (size) line["nbytes"] = *size;
    if (mark.health != Health::ok) line["reason"] = mark.reason;
    fmt::print("{}\n", frame::to_line(line));
  }

  void print_entry(const fs::SourcePath& directory, const fs::Tree::DirectoryEntry& entry,
                   const std::string& shown) {
    const fs::SourcePath path = join_path(directory, entry.full_name);
    fs::SourceEntry found;
    Mark mark;
    try {
      if (const auto object = root_.find_any(path))
        found = classifier_.look(path, fs::found_entry(object));
      if (found.object) mark = mark_of(path, found);
    } catch (const std::system_error& error) {
      mark = {health_of(error), reason(error)};
    }
    if (json_) return print_line(path, entry, shown, found, mark);
    fmt::print("{}{}\n", shown, S_ISDIR(entry.type) ? "/" : "");
    if (mark.health == Health::ok || mark.is_told) return;
    complain(shown,
             mark.health == Health::unsupported ? "unsupported: " + mark.reason : mark.reason);
  }

  void print_line(const fs::SourcePath& path, const fs::Tree::DirectoryEntry& entry,
                  const std::string& shown, const fs::SourceEntry& found, const Mark& mark) const {
    nlohmann::json line = {{"name", shown},
                           {"stored", path.text()},
                           {"type", type_name(entry.type)},
                           {"frame", found.is_container},
                           {"status", health_name(mark.health)}};
    if (S_ISREG(entry.type))
      line["nbytes"] = found.is_container ? found.shown_size : found.own_stat.st_size;
    if (mark.health != Health::ok) line["reason"] = mark.reason;
    fmt::print("{}\n", frame::to_line(line));
  }

  /// Errors as what it opens.
  Mark mark_of(const fs::SourcePath& path, const fs::SourceEntry& entry) {
    if (entry.unreadable) return {Health::unreadable, entry.unreadable.message(), true};
    if (entry.is_container) return mark_of_container(path, entry);
    const mode_t mode = entry.own_stat.st_mode;
    if (!S_ISREG(mode) && !S_ISDIR(mode)) return {};
    try {
      entry.object->check_access(S_ISDIR(mode) ? R_OK | X_OK : R_OK);
    } catch (const std::system_error& error) {
      return {Health::unreadable, error.code().message(), S_ISDIR(mode)};
    }
    // An empty file may be a frame that is being made, and is read as what it is.
    if (!entry.is_damaged || entry.own_stat.st_size == 0) return {};
    try {
      open_damaged(entry);
      return {};
    } catch (const codec::Error& error) {
      return {health_of(error), error.what(), true};
    }
  }

  Mark mark_of_container(const fs::SourcePath& path, const fs::SourceEntry& entry) {
    if (!entry.may_lack_contents && !entry.is_unsupported) return {};
    auto snapshot = classifier_.open(path, entry);
    if (!snapshot) return {};  // another file has the name by now
    readers_ += 2;
    const fs::FrameReader reader(std::move(snapshot), readers_, readers_ + 1, cache_, stats_);
    if (const auto missing = frame::missing_decoder(reader.snapshot()))
      return {Health::unsupported, *missing};
    if (const auto missing = fs::missing_contents(reader)) return {Health::no_contents, *missing};
    return {};
  }

  /// Throws what is wrong.
  static void open_damaged(const fs::SourceEntry& entry) {
    if (S_ISDIR(entry.own_stat.st_mode))
      frame::open_directory(entry.object->open(O_RDONLY | O_DIRECTORY), {});
    else
      frame::open_file(entry.object->open_quietly(O_RDONLY), {});
  }

  void print_readable(fs::NodeId directory, const std::string& prefix) {
    try {
      print(directory, prefix);
    } catch (const std::system_error& error) {
      complain(prefix, reason(error));
      complete_ = false;
    }
  }

  const bool json_;
  fs::SourceRoot root_;
  fs::Classifier classifier_;
  fs::Tree tree_;
  fs::Stats stats_;
  fs::PagePool pages_;
  fs::BlockCache cache_{kListCacheCapacity, pages_, stats_};
  fs::Stores stores_{root_, tree_, cache_.budget(), false};
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

/// A key of a store as JSON; the leaf is looked at.
void print_key(const frame::PythonStore& store, const std::string& key, const frame::Leaf& leaf) {
  const auto* external = std::get_if<frame::ExternalLeaf>(&leaf);
  nlohmann::json line = {{"name", key},
                         {"stored", external != nullptr ? external->path : ""},
                         {"type", "file"},
                         {"frame", true},
                         {"status", health_name(Health::ok)}};
  const auto mark = [&](Health health, const std::string& reason) {
    line["status"] = health_name(health);
    line["reason"] = reason;
  };
  try {
    const auto snapshot = store.open(leaf);
    if (!snapshot) return;
    line["nbytes"] = fs::view_shape(snapshot->info(), false).file_size();
    if (const auto missing = frame::missing_decoder(*snapshot)) mark(Health::unsupported, *missing);
  } catch (const std::system_error& error) {
    mark(health_of(error), reason(error));
  }
  fmt::print("{}\n", frame::to_line(line));
}

/// Prints the keys of the leaves, those below `key` or its own.
int list_keys(const std::string& file, const frame::PythonStore& store, const std::string& key,
              bool as_json) {
  const frame::StoreEntry entry = find_entry(store, key);
  const auto print = [&](const std::string& found, const frame::Leaf& leaf) {
    if (as_json)
      print_key(store, found, leaf);
    else if (is_leaf(store, leaf))
      fmt::print("{}\n", found);
  };
  if (entry.leaf) print(key, *entry.leaf);
  if (entry.is_group) store.for_each_leaf(key, print);
  for (const std::string& message : store.messages()) complain(file, message);
  return store.has_map() ? 0 : kExitBadData;
}

int list_names(const ListOptions& options) {
  fs::wait_for_ended_mounts(options.directory);
  Lister lister(fs::open_source(options.directory, false, false), options.json);
  lister.print(fs::kRootId, "");
  return lister.complete() ? 0 : kExitBadData;
}

int list(const ListOptions& options) {
  const std::string& path = options.directory;
  if (frame::is_remote(path)) return list_remote(options);
  if (const auto address = parse_store_address(path))
    return list_keys(address->store, *open_store(address->store), address->key, options.json);
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    if (const auto store = find_store(path)) return list_keys(path, *store, "/", options.json);
  return list_names(options);
}

}  // namespace

int run_list(const ListOptions& options) {
  return guarded(options.directory, [&] { return list(options); });
}

}  // namespace bloscfs::tools
