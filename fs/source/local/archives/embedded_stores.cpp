#include "fs/source/local/archives/embedded_stores.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/pystore/store_names.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

/// How often embed.b2e is opened while other programs keep replacing it.
constexpr int kLookTries = 10;

SourcePath embed_path(const StorePlace& place) {
  return join_path(place.root_path, std::string(frame::kEmbedName));
}

}  // namespace

// --- states

EmbeddedStores::Embedded EmbeddedStores::open(Request& request, const StorePlace& place,
                                              std::shared_ptr<const SourceObject> embed) {
  SourceEntry entry = found_entry(std::move(embed));
  const SourcePath path = embed_path(place);
  auto charge = recent_.charge_for(request, path.text());
  auto frame = tree_.classifier().open(path, entry);
  auto store = frame ? frame::open_embedded_part(std::move(frame), charge) : nullptr;
  if (!store) return {};
  for (const std::string& message : store->messages())
    log::warn(request.user(), fmt::format("{}: {}", path.text(), message));
  struct stat status = entry.own_stat;
  status.st_ino = root_.directory(place.root_path).stat().st_ino;
  auto archive = std::make_unique<const StoreArchive>(std::move(store), raw_, std::move(charge));
  return {tree_.pinning(place.root, std::move(archive)),
          std::make_shared<const struct stat>(status)};
}

std::shared_ptr<const StoreArchive> EmbeddedStores::open_whole(Request& request,
                                                               const StorePlace& place) {
  request.need_slot();
  auto charge = recent_.charge_for(request, place.path().text());
  auto store =
      frame::open_directory_store(root_.open(place.root_path, O_RDONLY | O_DIRECTORY), {}, charge);
  if (!store) return nullptr;
  return std::make_shared<const StoreArchive>(std::move(store), raw_, std::move(charge));
}

EmbeddedStores::Embedded EmbeddedStores::embedded(Request& request, const StorePlace& place) {
  NamesWork work(request);
  return embedded(work, place);
}

EmbeddedStores::Embedded EmbeddedStores::embedded(NamesWork& work, const StorePlace& place) {
  const SourcePath path = embed_path(place);
  for (int tries = 1;; tries++) {
    const auto embed = root_.find_any(path, &work);
    if (!embed || !S_ISREG(embed->stat().st_mode)) return {};
    const FileState state = state_of(embed->stat());
    // The remembered archive is used only if its bytes are unchanged: another program may have
    // changed the file in place so soon that its times are the same.
    const auto known = this->known(place.root, state);
    if (known && (!known->archive || known->archive->is_unchanged_without_wait())) return *known;
    const auto found = std::make_shared<std::optional<Embedded>>();
    const StoreArchive* const outdated = known ? known->archive.get() : nullptr;
    const bool is_last = tries == kLookTries;
    work.read_first([this, &work, place, path, embed, state, outdated, is_last, found] {
      work.request().need_slot();
      Embedded opened = open(work.request(), place, embed);
      const auto now = root_.stat(path);
      // Remembered only if embed.b2e is still that file. Otherwise another thread may already have
      // remembered the state of its replacement.
      if (now && state_of(*now) == state)
        *found = remember(place.root, state, std::move(opened), outdated);
      else if (is_last)
        *found = std::move(opened);
    });
    if (*found) return **found;
  }
}

/// Returns what is remembered of that state; nullopt if nothing is. A null archive: the file is
/// known to be no store.
std::optional<EmbeddedStores::Embedded> EmbeddedStores::known(NodeId root, const FileState& state) {
  const MutexLock lock(mutex_);
  const auto found = states_.find(root);
  if (found == states_.end() || !(found->second.state == state)) return std::nullopt;
  if (found->second.is_none) return Embedded{};
  auto archive = found->second.archive.lock();
  return archive ? std::optional(Embedded{std::move(archive), found->second.status}) : std::nullopt;
}

/// Remembers an opened state. Returns the one to use, which another thread may have opened first.
/// `outdated` is an archive that must not be used any more.
EmbeddedStores::Embedded EmbeddedStores::remember(NodeId root, const FileState& state,
                                                  Embedded found, const StoreArchive* outdated) {
  std::shared_ptr<const StoreArchive> other;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  State& last = states_[root];
  // Another thread may have come first.
  other = last.archive.lock();
  if (other && other.get() != outdated && last.state == state) return {other, last.status};
  last = {state, found.archive, found.status, found.archive == nullptr};
  if (states_.size() >= states_prune_limit_) {
    std::erase_if(states_, [](const auto& one) { return one.second.archive.expired(); });
    states_prune_limit_ = 64 + 2 * states_.size();
  }
  // Nodes of other states keep what they show, but release the archive. Otherwise each change of
  // embed.b2e would leave one more archive open.
  tree_.release_other_states(root, found.archive.get());
  recent_.put({root, 0, 0}, found.archive);
  return found;
}

// --- what the tree asks

std::optional<ArchiveEntry> EmbeddedStores::find(NamesWork& work, const StorePlace& place,
                                                 const std::string& full_name) {
  const auto archive = embedded(work, place).archive;
  if (!archive || !archive->may_have(place.group, full_name)) return std::nullopt;
  // Only the bytes of a leaf tell whether it is an array. The archive remembers the answer.
  work.read_first(
      [&work, archive, group = place.group, full_name] {
        work.request().need_slot();
        archive->find(work.request(), group, full_name);
      },
      fmt::format("{}:{}:{}", static_cast<const void*>(archive.get()), place.group, full_name));
  return archive->find(work.request(), place.group, full_name);
}

bool EmbeddedStores::has_any(NamesWork& work, const StorePlace& place) {
  const auto archive = embedded(work, place).archive;
  return archive && archive->has_below(place.group, false);
}

std::optional<EmbeddedEntries::Listed> EmbeddedStores::list(Request& request,
                                                            const StorePlace& place,
                                                            const OnManyEntries& if_any) {
  const Embedded found = embedded(request, place);
  if (!found.archive || !found.archive->has_group(place.group) || found.archive->is_empty())
    return Listed();
  if (!if_any()) return std::nullopt;
  const auto charge = recent_.charge_for(request, place.path().text());
  return Listed{found.archive->list(request, place.group, *charge), found.status};
}

void EmbeddedStores::require_complete(Request& request, const StorePlace& place,
                                      const std::string& name) {
  if (const auto archive = embedded(request, place).archive) fs::require_complete(*archive, name);
}

/// Returns attributes with the owner, times and permissions of embed.b2e; for a group, those of the
/// store's directory.
struct stat EmbeddedStores::attributes(Request& request, const ArchivePart& part) {
  const struct stat file = tree_.owned(*part.embed);
  struct stat st =
      part.entry.is_group() ? tree_.attributes(request, part.root) : status_of(part, file, 0666);
  st.st_ino = inode_in_archive(file, part.entry);
  return st;
}

std::shared_ptr<const ArchivePart> EmbeddedStores::part(Request& request, const StorePlace& place,
                                                        const std::string& full_name) {
  request.need_slot();
  Embedded found = embedded(request, place);
  auto entry = found.archive ? found.archive->find(request, place.group, full_name) : std::nullopt;
  if (!entry) return nullptr;
  ArchivePart part{std::move(found.archive), place.root, *std::move(entry),
                   std::move(found.status)};
  auto with_size = measured(request, part, raw_);
  return with_size ? std::move(with_size) : std::make_shared<const ArchivePart>(std::move(part));
}

}  // namespace bloscfs::fs
