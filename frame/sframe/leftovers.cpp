#include "frame/sframe/leftovers.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "codec/error.hpp"
#include "frame/sframe/shared_frames.hpp"
#include "frame/store/object_frames.hpp"
#include "frame/store/object_index.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline sframe {
namespace {

constexpr std::string_view kProbe = ".bloscfs-probe-", kMarker = ".bloscfs-removed-";

bool is_missing(const std::system_error& error) {
  return error.code() == std::errc::no_such_file_or_directory;
}

std::string below(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

/// By the store's clock, which says how old its objects are.
std::int64_t time_of_store(ObjectTree& tree) {
  const std::string path = std::string(kProbe) + new_commit_id();
  tree.put(path, {}, {ObjectCondition::Kind::absent, {}}, {});
  const std::int64_t time = tree.open(path, nullptr)->state().modified;
  tree.remove(path, {});
  if (time <= 0) throw_errno(EIO, "the store tells no times");
  return time;
}

class Sweep {
 public:
  Sweep(std::shared_ptr<ObjectTree> tree, std::int64_t newest)
      : tree_(*tree),
        frames_(std::make_shared<ObjectFrames>(std::move(tree), [](const std::string&) {})),
        newest_(newest) {}

  void sweep_root() {
    if (const auto& single = tree_.single()) {
      sweep_single(*single);
      return;
    }
    sweep(std::string());
  }
  Leftovers& result() { return result_; }

 private:
  using Entries = std::vector<ObjectEntry>;

  void sweep_single(const std::string& path) {
    try {
      sweep(path);
    } catch (const std::system_error& error) {
      // An object of its own.
      if (!is_missing(error)) throw;
    }
  }

  bool is_old(const ObjectEntry& entry) const {
    return !entry.is_directory && entry.state && entry.state->modified > 0 &&
           entry.state->modified <= newest_;
  }

  static const ObjectEntry* find(const Entries& entries, const std::string& name) {
    const auto found = std::lower_bound(
        entries.begin(), entries.end(), name,
        [](const ObjectEntry& entry, const std::string& wanted) { return entry.name < wanted; });
    return found != entries.end() && found->name == name ? &*found : nullptr;
  }

  void sweep(const std::string& directory);
  /// Chunks, and the index where it is a tombstone. Listed before the index is read: what a commit
  /// has named since is in that.
  void sweep_frame(const std::string& directory, const Entries& entries);
  void sweep_markers(const std::string& directory, const Entries& entries);
  void take_tombstone(const std::string& directory, const Entries& entries, std::size_t kept);
  bool names_of(const std::string& directory, std::vector<std::string>& named);
  bool is_gone(const std::string& path);

  ObjectTree& tree_;
  const std::shared_ptr<ObjectFrames> frames_;
  const std::int64_t newest_;
  Leftovers result_;
};

void Sweep::sweep(const std::string& directory) {
  const Entries entries = tree_.list(directory);
  sweep_frame(directory, entries);
  for (const ObjectEntry& entry : entries) {
    const std::string path = below(directory, entry.name);
    if (entry.is_directory) {
      sweep_single(path);
    } else if (entry.name.starts_with(kProbe) && is_old(entry)) {
      tree_.remove(path, {});
      result_.probes++;
    }
  }
  sweep_markers(directory, entries);
}

/// False where nobody can tell.
bool Sweep::names_of(const std::string& directory, std::vector<std::string>& named) {
  try {
    named = chunks_of_shared_frame(*frames_, directory);
  } catch (const codec::Error&) {
    result_.damaged.push_back(directory);
    return false;
  } catch (const std::system_error& error) {
    if (!is_missing(error)) throw;
  }
  std::sort(named.begin(), named.end());
  return true;
}

void Sweep::sweep_frame(const std::string& directory, const Entries& entries) {
  const auto is_chunk = [](const ObjectEntry& entry) {
    return !entry.is_directory && chunk_file_number(entry.name);
  };
  const bool has_index = find(entries, kSframeIndexName) != nullptr;
  if (directory.empty() || (!has_index && std::none_of(entries.begin(), entries.end(), is_chunk)))
    return;
  std::vector<std::string> named;
  if (!names_of(directory, named)) return;
  std::size_t kept = 0;
  std::vector<std::string> unnamed;
  for (const ObjectEntry& entry : entries) {
    const std::string path = below(directory, entry.name);
    const bool may_go =
        is_chunk(entry) && is_old(entry) && !std::binary_search(named.begin(), named.end(), path);
    if (!may_go) {
      kept += entry.name != kSframeIndexName;
      continue;
    }
    unnamed.push_back(path);
    result_.chunks++;
    result_.chunk_bytes += entry.state->size;
  }
  frames_->calls().for_each(unnamed.size(), [&](std::size_t i) { tree_.remove(unnamed[i], {}); });
  take_tombstone(directory, entries, kept);
}

/// Once nothing else is there: who makes the frame again may have stored chunks for it.
void Sweep::take_tombstone(const std::string& directory, const Entries& entries, std::size_t kept) {
  const ObjectEntry* const index = find(entries, kSframeIndexName);
  if (kept > 0 || index == nullptr || !is_old(*index) || index->state->size > 0) return;
  try {
    tree_.remove(below(directory, index->name), {ObjectCondition::Kind::same, *index->state});
    result_.tombstones++;
  } catch (const std::system_error& error) {
    // It was made again.
    if (error.code() != std::errc(ESTALE)) throw;
  }
}

/// Whether no listing has that name, or a frame has it that is no removed one.
bool Sweep::is_gone(const std::string& path) {
  try {
    const Entries entries = tree_.list(path);
    const ObjectEntry* const index = find(entries, kSframeIndexName);
    return index != nullptr && index->state && index->state->size > 0;
  } catch (const std::system_error& error) {
    if (!is_missing(error)) throw;
    return true;
  }
}

void Sweep::sweep_markers(const std::string& directory, const Entries& entries) {
  for (const ObjectEntry& entry : entries) {
    if (!entry.name.starts_with(kMarker) || !is_old(entry)) continue;
    if (!is_gone(below(directory, entry.name.substr(kMarker.size())))) continue;
    tree_.remove(below(directory, entry.name), {});
    result_.markers++;
  }
}

}  // namespace

Leftovers remove_leftovers(const std::shared_ptr<ObjectTree>& tree, std::chrono::seconds age) {
  Sweep sweep(tree, time_of_store(*tree) - age.count());
  sweep.sweep_root();
  return std::move(sweep.result());
}

}  // namespace bloscfs::frame::inline sframe
