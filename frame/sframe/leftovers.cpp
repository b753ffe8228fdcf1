#include "frame/sframe/leftovers.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
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

constexpr std::string_view kProbe = ".bloscfs-probe-";

bool is_missing(const std::system_error& error) {
  return error.code() == std::errc::no_such_file_or_directory;
}

std::string below(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

/// Returns the time of the object store's clock, which also dates its objects. Creates and removes
/// an object for that.
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
  Sweep(std::shared_ptr<ObjectTree> tree, std::int64_t newest, bool is_dry)
      : tree_(*tree),
        frames_(std::make_shared<ObjectFrames>(std::move(tree), [](const std::string&) {})),
        newest_(newest),
        is_dry_(is_dry) {}

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
      // The path is a plain object, or the directory has vanished.
      if (!is_missing(error)) throw;
    }
  }

  bool is_old(const ObjectEntry& entry) const {
    return !entry.is_directory && entry.state && entry.state->modified > 0 &&
           entry.state->modified <= newest_;
  }

  void sweep(const std::string& directory);
  /// Sweeps the chunks of a frame, and its index if it is a tombstone. `entries` must be listed
  /// before the index is read. The index then names every chunk that a commit has named since.
  void sweep_frame(const std::string& directory, const Entries& entries);
  std::shared_ptr<const ObjectSource> open_if_any(const std::string& path);
  /// Returns the chunks that the index names; nullopt if the index cannot be read.
  std::optional<std::vector<std::string>> names_in(const std::string& directory);
  void remove(std::vector<std::string> paths);
  void remove_tombstone(const std::string& path, const ObjectState& state);

  ObjectTree& tree_;
  const std::shared_ptr<ObjectFrames> frames_;
  const std::int64_t newest_;
  const bool is_dry_;
  Leftovers result_;
};

void Sweep::remove(std::vector<std::string> paths) {
  if (!is_dry_) return tree_.remove_all(paths);
  std::move(paths.begin(), paths.end(), std::back_inserter(result_.paths));
}

void Sweep::sweep(const std::string& directory) {
  const Entries entries = tree_.list(directory);
  sweep_frame(directory, entries);
  std::vector<std::string> probes;
  for (const ObjectEntry& entry : entries) {
    const std::string path = below(directory, entry.name);
    if (entry.is_directory) {
      sweep_single(path);
    } else if (entry.name.starts_with(kProbe) && is_old(entry)) {
      probes.push_back(path);
      result_.probes++;
    }
  }
  remove(std::move(probes));
}

std::shared_ptr<const ObjectSource> Sweep::open_if_any(const std::string& path) {
  try {
    return tree_.open(path, nullptr);
  } catch (const std::system_error& error) {
    if (!is_missing(error)) throw;
    return nullptr;
  }
}

std::optional<std::vector<std::string>> Sweep::names_in(const std::string& directory) {
  try {
    std::vector<std::string> named = chunks_of_shared_frame(*frames_, directory);
    std::sort(named.begin(), named.end());
    return named;
  } catch (const codec::Error&) {
    result_.damaged.push_back(directory);
    return std::nullopt;
  }
}

void Sweep::sweep_frame(const std::string& directory, const Entries& entries) {
  const auto is_chunk = [](const ObjectEntry& entry) {
    return !entry.is_directory && chunk_file_number(entry.name);
  };
  const auto is_index = [](const ObjectEntry& entry) {
    return !entry.is_directory && entry.name == kSframeIndexName;
  };
  if (directory.empty() || std::none_of(entries.begin(), entries.end(), [&](const auto& entry) {
        return is_chunk(entry) || is_index(entry);
      }))
    return;
  const auto index = open_if_any(below(directory, kSframeIndexName));
  const bool is_removed = index && index->state().size == 0;
  std::vector<std::string> named;
  if (index && !is_removed) {
    auto names = names_in(directory);
    if (!names) return;
    named = *std::move(names);
  }
  // A commit id shows that bloscfs wrote the index. Otherwise each chunk must have its mark.
  const bool is_own = index && !commit_of(index->state()).empty();
  std::size_t kept = 0;
  std::vector<std::string> unnamed;
  for (const ObjectEntry& entry : entries) {
    if (is_index(entry)) continue;
    const std::string path = below(directory, entry.name);
    const bool may_go =
        is_chunk(entry) && is_old(entry) && !std::binary_search(named.begin(), named.end(), path);
    const auto has_mark = [&] {
      const auto chunk = open_if_any(path);
      return chunk && chunk->state().metadata.contains(kMark);
    };
    if (!may_go || !(is_own || has_mark())) {
      kept++;
      continue;
    }
    unnamed.push_back(path);
    result_.chunks++;
    result_.chunk_bytes += entry.state->size;
  }
  remove(std::move(unnamed));
  // The tombstone goes only when nothing else is left. A host that creates the frame again may
  // already have stored chunks.
  if (kept == 0 && is_removed && is_own && index->state().modified <= newest_)
    remove_tombstone(below(directory, kSframeIndexName), index->state());
}

void Sweep::remove_tombstone(const std::string& path, const ObjectState& state) {
  result_.tombstones++;
  if (is_dry_) return result_.paths.push_back(path);
  try {
    tree_.remove(path, {ObjectCondition::Kind::same, state});
  } catch (const std::system_error& error) {
    // Another host has created the frame again.
    if (error.code() != std::errc(ESTALE)) throw;
    result_.tombstones--;
  }
}

}  // namespace

Leftovers remove_leftovers(const std::shared_ptr<ObjectTree>& tree, std::chrono::seconds age,
                           bool is_dry) {
  Sweep sweep(tree, time_of_store(*tree) - age.count(), is_dry);
  sweep.sweep_root();
  return std::move(sweep.result());
}

}  // namespace bloscfs::frame::inline sframe
