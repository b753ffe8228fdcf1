#include "tools/shown_tree.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "frame/container/missing_decoder.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/mount/make_mount.hpp"
#include "fs/source/archives/store_archive.hpp"
#include "fs/view/stored_contents.hpp"

namespace bloscfs::tools {
namespace {

/// Memory of the mount. A part of it is for listings.
constexpr std::size_t kMemory = std::size_t{64} << 20;

}  // namespace

ShownTree::ShownTree(const std::string& source, const RemoteFiles& remote, Settings settings)
    : settings_(std::move(settings)), cache_(kMemory, pages_, stats_) {
  fs::MountOptions options;
  options.read_only = true;
  options.cache_size = kMemory;
  options.logs_verdicts = settings_.logs_verdicts;
  if (frame::is_remote(source)) {
    const auto objects = remote.tree(source);
    is_single_ = objects->single().has_value();
    mount_ = fs::mount_objects(objects, options, 1, pages_);
  } else {
    fs::wait_for_ended_mounts(source);
    fs::MountSource opened = fs::open_source(source, false, true);
    is_single_ = opened.single.has_value();
    mount_ = fs::mount_files(std::move(opened), options, fs::WorkerCounts{1, 1}, nullptr, pages_);
  }
  // Only the root of a store has this attribute. For other roots, the call throws ENODATA.
  try {
    mount_->attribute(request_, fs::kRootId, fs::kStoreAttribute);
    is_store_ = true;
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_message_available) throw;  // ENODATA
  }
}

std::optional<ShownEntry> ShownTree::next() {
  if (!std::exchange(is_begun_, true)) {
    ShownEntry root;
    root.st = mount_->source().attributes(request_, fs::kRootId);
    root.node = std::make_shared<const fs::NodeId>(fs::kRootId);
    enter(root.node, "", "");
    return root;
  }
  while (!levels_.empty()) {
    ShownEntry shown;
    // An error of leave() belongs to the directory itself.
    shown.path = shown.stored = levels_.back().path;
    try {
      if (levels_.back().entries.empty()) {
        leave();
        continue;
      }
      const auto entry = std::move(levels_.back().entries.back());
      levels_.back().entries.pop_back();
      if (!shown.path.empty()) shown.path += '/';
      shown.path += entry.shown_name;
      shown.stored = shown.path;
      if (!look(entry, shown)) continue;
    } catch (const std::exception&) {
      shown.problem = std::current_exception();
    }
    return shown;
  }
  return std::nullopt;
}

void ShownTree::enter(std::shared_ptr<const fs::NodeId> node, const std::string& path,
                      std::string key) {
  Level level{std::move(node), path, std::move(key), {}};
  fs::DirectoryHandles& directories = mount_->directories();
  const std::uint64_t begun = directories.listings_begun();
  const std::uint64_t directory = directories.open(request_, *level.node, begun);
  try {
    level.entries = directories.entries(request_, directory, true, begun)->entries;
  } catch (...) {
    directories.release(request_, directory);
    throw;
  }
  directories.release(request_, directory);
  std::sort(level.entries.begin(), level.entries.end(),
            [](const auto& a, const auto& b) { return a.shown_name > b.shown_name; });
  levels_.push_back(std::move(level));
}

/// Throws EIO if damage has left the listing of a store incomplete.
void ShownTree::leave() {
  const auto node = levels_.back().node;
  levels_.pop_back();
  mount_->source().require_listed(request_, *node);
}

/// True if an entry is below settings_.key, or is a directory on the way to it.
bool ShownTree::is_wanted(const std::string& key, bool is_directory) const {
  const auto is_below = [](const std::string& inner, const std::string& outer) {
    return outer == "/" || inner == outer ||
           (inner.starts_with(outer) && inner[outer.size()] == '/');
  };
  return is_below(key, settings_.key) || (is_directory && is_below(settings_.key, key));
}

/// Fills `shown`, and enters a directory. Returns false if the entry is not wanted or has vanished.
bool ShownTree::look(const fs::DirectoryEntry& entry, ShownEntry& shown) {
  const fs::NodeId above = *levels_.back().node;
  const bool is_directory = S_ISDIR(entry.type);
  const std::string& key = shown.key =
      levels_.back().key + '/' +
      (is_directory ? entry.full_name : std::string(frame::leaf_stem(entry.full_name)));
  if (!is_wanted(key, is_directory)) return false;
  auto found = mount_->source().enter(request_, above, entry);
  // The id is 0 if the listing has only the name, because the attributes would take more work.
  if (found && found->id == 0) found = mount_->source().lookup(request_, above, entry.shown_name);
  if (!found) return false;
  shown.node = std::shared_ptr<const fs::NodeId>(
      new fs::NodeId(found->id), [source = &mount_->source()](const fs::NodeId* node) {
        source->forget(*node, 1);
        delete node;
      });
  shown.stored = mount_->source().display_path(found->id);
  shown.full_name = entry.full_name;
  shown.st = found->attributes;
  if (S_ISLNK(shown.st.st_mode)) shown.link = mount_->source().read_link(request_, found->id);
  if (S_ISDIR(shown.st.st_mode) && enters_directories()) enter(shown.node, shown.path, key);
  return true;
}

bool ShownTree::is_table(const ShownEntry& entry) {
  if (!is_store_ || !S_ISDIR(entry.st.st_mode)) return false;
  try {
    return mount_->attribute(request_, *entry.node, fs::kGroupKindAttribute) == "ctable";
  } catch (const std::system_error&) {
    return false;
  }
}

fs::StoredForm ShownTree::stored_form(const ShownEntry& entry) {
  return mount_->source().stored_form(request_, *entry.node);
}

Readable ShownTree::readable(const fs::StoredForm& form) {
  if (!form.frame || !form.may_lack_contents) return {};
  if (const auto missing = frame::missing_decoder(*form.frame))
    return {Health::unsupported, *missing};
  // Gives each reader two cache keys that no other reader has.
  readers_ += 2;
  const fs::FrameReader reader(form.frame, readers_, readers_ + 1, cache_, stats_);
  fs::Request request;
  if (const auto missing = fs::missing_contents(request, reader))
    return {Health::no_contents, *missing};
  return {};
}

}  // namespace bloscfs::tools
