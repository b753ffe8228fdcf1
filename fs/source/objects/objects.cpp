#include "fs/source/objects/objects.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <xxhash.h>

#include "frame/sframe/shared_frames.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/sframe_names.hpp"
#include "fs/source/objects/logged_failures.hpp"
#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {
namespace {

using Kind = ObjectLook::Kind;

}  // namespace

Objects::Objects(std::shared_ptr<frame::ObjectTree> tree, const ObjectLooks::Settings& settings,
                 MemoryBudget& budget, LaterRemoval& removal, frame::UploadSettings uploads,
                 unsigned at_once, const frame::Clock& clock, Leading leading)
    : clock_(clock),
      tree_(tree),
      removal_(removal),
      frames_(std::make_shared<frame::ObjectFrames>(
          tree, [&removal](const std::string& path) { removal.add(path); },
          frame::ObjectFrames::kSafeAge, std::move(uploads))),
      budget_(budget),
      leading_(std::move(leading)),
      looks_(
          tree, frames_, settings,
          [this](Request& request, const std::string& directory, const std::string& name) {
            return has_object(request, directory, name);
          },
          budget, clock),
      listings_(std::move(tree), budget, settings.revalidate, clock),
      ahead_(
          at_once,
          [this](const ListingPointer& listing, std::size_t number) {
            Request request;
            const frame::ObjectEntry& entry = listing->entries()[number];
            looks_.look(request, path_in(listing->directory(), entry.name), entry.is_directory,
                        listed_state(entry, *listing));
          },
          [this](const ObjectListing& listing, std::size_t number) {
            return inode_of(path_in(listing.directory(), listing.entries()[number].name));
          }) {
  frames_->set_removals([&removal](const std::string& path) { return removal.is_removing(path); });
  tree_->set_charges([this](const std::string& directory) {
    // A frame lists its own chunks. That listing is charged to no user's share.
    Request request;
    return std::make_unique<MemoryBudget::Listing>(request, budget_, tree_->url(directory));
  });
}

/// Tries a single SOURCE as an object first, then as a directory, because a URL does not say which
/// it is. If neither can be shown, throws the error of the object. A web server answers ENOTDIR to
/// the request for a directory, which would mislead.
void Objects::require_shown(Request& request) {
  if (!tree_->single()) return static_cast<void>(listing(request, ""));
  const std::string& name = *tree_->single();
  LookPointer look;
  try {
    look = looks_.look(request, name, false);
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
    try {
      look = looks_.look(request, name, true);
    } catch (const std::system_error& of_directory) {
      if (!is_absent(of_directory) && of_directory.code() != std::errc::not_a_directory) throw;
    }
    if (!look || (!look->is_container() && !look->is_store())) throw;
  }
  if (look->kind == Kind::plain)
    throw std::invalid_argument("is not a Blosc2 frame, a Bloscpack file or a store");
}

// --- names

/// Judges entries by their cached looks, or else by their names.
ObjectListing::Judge Objects::judge_in(const std::string& directory) {
  return [this, directory](const frame::ObjectEntry& entry) {
    const auto known = looks_.known(path_in(directory, entry.name));
    if (known && known->kind != Kind::removed && known->is_object() != entry.is_directory)
      return known->shown;
    return promised(entry.name, entry.is_directory, looks_.settings());
  };
}

/// Returns what the listing says of an entry. While the listing is fresh, an object in the listed
/// state needs no request. With revalidate=0 each object needs one.
ObjectLooks::Listed Objects::listed_state(const frame::ObjectEntry& entry,
                                          const ObjectListing& listing) const {
  const auto trusted = looks_.settings().revalidate;
  const auto until = trusted.count() > 0 ? listing.fresh_until(trusted) : listing.begun();
  return {entry.state, listing.begun(), until};
}

ListingPointer Objects::listing(Request& request, const std::string& directory) {
  return listings_.get(request, directory, judge_in(directory));
}

/// Returns the listing of the root if SOURCE is a single object.
ListingPointer Objects::single_listing(Request& request) {
  const std::string& name = *tree_->single();
  const auto known = looks_.known(name);
  const frame::ObjectEntry entry{.name = name, .is_directory = known && !known->is_object()};
  return std::make_shared<const ObjectListing>(
      "", std::vector{entry}, judge_in(""), clock_.now(), frame::Clock::Duration::zero(),
      std::make_shared<MemoryBudget::Listing>(request, budget_, tree_->url(name)));
}

std::optional<Objects::Found> Objects::look_at(Request& request, const std::string& directory,
                                               const frame::ObjectEntry& entry,
                                               const ListingPointer& listing) {
  Found found{path_in(directory, entry.name), nullptr};
  found.look = leading_(found.path);
  found.is_leading = found.look != nullptr;
  if (found.is_leading) return found;
  try {
    const auto number = static_cast<std::size_t>(&entry - listing->entries().data());
    // Does not wait for a look-ahead that is over: it has cached its result, or its error is old.
    const auto look = ahead_.pass(listing, number);
    if (look && !look->is_over()) {
      request.need_slot();
      look->wait();
    }
    found.look =
        looks_.look(request, found.path, entry.is_directory, listed_state(entry, *listing));
    // Looks again if this mount has committed to the path since that look.
    const auto stored = frames_->own_state(found.path);
    if (stored && !stored->same_bytes(found.look->state)) {
      looks_.forget(found.path);
      found.look = looks_.look(request, found.path, entry.is_directory);
    }
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
    return std::nullopt;
  }
  if (found.look->kind == Kind::removed) return std::nullopt;
  return found;
}

/// Tries three ways in this order: the name that the listing shows, a name that the bytes of an
/// entry give, and the full name of an entry that is shown as it is in spite of its suffix.
std::optional<Objects::Found> Objects::find_in(Request& request, const std::string& directory,
                                               const std::string& name,
                                               const ListingPointer& listing) {
  if (const auto* const entry = listing->find_shown(name))
    return look_at(request, directory, *entry, listing);
  for (const std::string& full_name : possible_full_names(name)) {
    const auto* const entry = listing->find(full_name);
    if (entry == nullptr) continue;
    auto found = look_at(request, directory, *entry, listing);
    if (found && preferred_name(full_name, found->look->shown) == name) return found;
  }
  const auto* const entry = listing->find(name);
  if (entry == nullptr) return std::nullopt;
  auto found = look_at(request, directory, *entry, listing);
  return found && found->look->shown == ShownAs::itself ? found : std::nullopt;
}

std::optional<Objects::Found> Objects::find(Request& request, const std::string& directory,
                                            const std::string& name) {
  if (tree_->single() && directory.empty())
    return find_in(request, directory, name, single_listing(request));
  // An outdated listing is good enough for an object that is known, because look_at() checks the
  // object itself.
  ListingPointer known = listings_.known(directory);
  const auto* const entry = known ? known->find_shown(name) : nullptr;
  const bool is_known = entry != nullptr && looks_.known(path_in(directory, entry->name));
  if (!known || (known->is_changed() && !is_known)) known = listing(request, directory);
  if (auto found = find_in(request, directory, name, known)) return found;
  const ListingPointer present = listing(request, directory);
  return present == known ? std::nullopt : find_in(request, directory, name, present);
}

std::optional<std::vector<DirectoryEntry>> Objects::list(Request& request,
                                                         const std::string& directory,
                                                         frame::MemoryCharge& charge,
                                                         const OnManyEntries& on_many_entries) {
  const bool is_single = tree_->single() && directory.empty();
  const ListingPointer found = is_single ? single_listing(request) : listing(request, directory);
  if (!on_many_entries()) return std::nullopt;
  std::vector<DirectoryEntry> entries;
  charge.take(found->entries().size() * sizeof(DirectoryEntry));
  entries.reserve(found->entries().size());
  for (std::size_t i = 0; i < found->entries().size(); i++) {
    const frame::ObjectEntry& entry = found->entries()[i];
    charge.take(2 * frame::heap_size(entry.name.size()));
    const std::string path = path_in(directory, entry.name);
    const LookPointer look = looks_.known(path);
    // A listing with a delimiter also shows the directories of removed frames.
    if (look && look->kind == Kind::removed && is_removed(request, path)) continue;
    const ShownAs shown = promised(entry.name, entry.is_directory, looks_.settings());
    const bool is_directory =
        look && look->is_object() != entry.is_directory
            ? look->is_directory()
            : is_store(shown) || (entry.is_directory && shown == ShownAs::itself);
    entries.push_back({found->shown()[i], entry.name,
                       is_directory ? mode_t{S_IFDIR} : mode_t{S_IFREG}, inode_of(path)});
  }
  return entries;
}

/// True if the directory holds an object of that name. False if the object store refuses the
/// listing.
bool Objects::has_object(Request& request, const std::string& directory, const std::string& name) {
  try {
    return listing(request, directory)->find(name) != nullptr;
  } catch (const std::system_error& error) {
    if (is_absent(error) || !frame::is_refusal(error.code())) throw;
    return false;
  }
}

bool Objects::is_taken(Request& request, const std::string& directory,
                       const std::string& full_name) {
  const ListingPointer listed = listing(request, directory);
  const frame::ObjectEntry* const entry = listed->find(full_name);
  if (entry == nullptr) return false;
  // The listing may still show what a removed frame left behind. If that counted, a new array of
  // this name would have to be stored as a flat file.
  if (!entry->is_directory) return true;
  return looks_.look_uncached(request, path_in(directory, full_name), true)->kind != Kind::removed;
}

ino_t Objects::inode_of(const std::string& path) const {
  const std::string url = tree_->url(path);
  // Never 0, which NFS and old programs take for "no inode", and never kRootId.
  return static_cast<ino_t>(XXH3_64bits(url.data(), url.size()) | 2);
}

void Objects::forget(const std::string& path) {
  looks_.forget(path);
  listings_.forget(parent_of(path));
}

bool Objects::is_removed(Request& request, const std::string& path) {
  try {
    return looks_.look(request, path, true)->kind == Kind::removed;
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
    return true;
  }
}

// --- changes

void Objects::make_directory(const Change&, const std::string& path) {
  {
    // Forgets that the directory has its key: another host may have removed the key since this
    // mount put it.
    const MutexLock lock(mutex_);
    with_keys_.erase(path);
  }
  put_key_of(path);
  forget(path);
}

/// Puts the directory's own key: an empty object whose name is the path and a slash. A directory
/// that has its key exists until it is removed, even when it is empty.
void Objects::put_key_of(const std::string& directory) {
  {
    const MutexLock lock(mutex_);
    if (directory.empty() || with_keys_.contains(directory)) return;
  }
  try {
    tree_->put(directory + "/", {}, {frame::ObjectCondition::Kind::absent, {}}, {});
  } catch (const std::system_error& error) {
    // The key exists already.
    if (error.code() != std::errc(ESTALE)) throw;
  }
  constexpr std::size_t kMost = 10'000;
  const MutexLock lock(mutex_);
  if (with_keys_.size() >= kMost) with_keys_.clear();
  with_keys_.insert(directory);
}

void Objects::remove_directory(Request& request, const Change&, const std::string& path) {
  // Chunks that are still being deleted would make the directory appear again.
  removal_.wait_for(request, path);
  {
    const MutexLock lock(mutex_);
    with_keys_.erase(path);
  }
  try {
    tree_->remove(path + "/", {});
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
  }
  listings_.forget(path);
  forget(path);
}

frame::KnownFrame Objects::frame_at(const std::string& path, const frame::ObjectState& state) {
  return {path, state, looks_.kept_index(path, state)};
}

void Objects::remove_frame(const Change&, const std::string& path, const frame::ObjectState& base,
                           const User& user) {
  put_key_of(parent_of(path));
  frame::RemovedFrame removed = frame::remove_shared_frame(*frames_, frame_at(path, base));
  removal_.add(std::move(removed.tombstone), std::move(removed.chunks), user);
  forget(path);
}

void Objects::remove_object(const Change&, const std::string& path) {
  put_key_of(parent_of(path));
  tree_->remove(path, {});
  forget(path);
}

frame::ObjectState Objects::rename_frame(Request& request, const Change&, const std::string& from,
                                         const frame::ObjectState& base, const User& user,
                                         const std::string& to,
                                         const std::optional<Replaced>& replaced) {
  put_key_of(parent_of(from));
  removal_.wait_for(request, to);
  // A fresh listing shows whether a removed frame has left chunks under the new name. Without one,
  // the rename must assume so.
  const ListingPointer listing = listings_.fresh(parent_of(to));
  const auto old = replaced ? std::optional(frame_at(to, replaced->state)) : std::nullopt;
  frame::RenamedFrame renamed;
  try {
    renamed = frame::rename_shared_frame(*frames_, frame_at(from, base), to, old,
                                         !listing || listing->may_hold(name_of(to)));
  } catch (...) {
    forget(to);
    throw;
  }
  if (replaced) removal_.add({}, std::move(renamed.replaced), replaced->user);
  removal_.add(std::move(renamed.removed.tombstone), std::move(renamed.removed.chunks), user);
  forget(from);
  forget(to);
  looks_.keep_index(to, renamed.index);
  return renamed.index->state();
}

}  // namespace bloscfs::fs
