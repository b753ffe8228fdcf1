#include "fs/source/objects/object_looks.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/archives/store_archive.hpp"
#include "fs/source/objects/logged_failures.hpp"
#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {
namespace {

using Kind = ObjectLook::Kind;

/// How long a look at a plain directory is trusted: such a directory seldom becomes a frame.
constexpr std::chrono::seconds kKindTrusted{30};
const std::string kIndexName(frame::kSframeIndexName);
const std::string kEmbedObject(frame::kEmbedName);

LookPointer look_of(Kind kind, const Verdict& verdict, const frame::ObjectState& state) {
  return std::make_shared<const ObjectLook>(
      ObjectLook{kind, verdict.shown, state, verdict.shown_size, verdict.stored_size});
}

}  // namespace

LookPointer with_state(const ObjectLook& look, const frame::ObjectState& state) {
  ObjectLook other = look;
  other.state = state;
  return std::make_shared<const ObjectLook>(std::move(other));
}

// --- cached looks

LookPointer ObjectLooks::recent(const std::string& path, bool is_directory, const Listed& listed) {
  const MutexLock lock(mutex_);
  Known* const known = known_.peek(path);
  if (!known) return nullptr;
  const ObjectLook& look = *known->look;
  if (look.is_object() == is_directory) return nullptr;
  // A listing tells the state of an object, and of the index of a sparse frame.
  const bool has_state = look.is_object() || look.kind == Kind::sframe;
  if (listed.state && has_state && look.state.same_bytes(*listed.state)) {
    known->checked = std::max(known->checked, listed.at);
    if (clock_.now() < listed.fresh_until) return known->look;
  }
  const frame::Clock::Duration trusted =
      look.kind == Kind::directory
          ? std::max<frame::Clock::Duration>(settings_.revalidate, kKindTrusted)
          : settings_.revalidate;
  return clock_.now() - known->checked < trusted ? known->look : nullptr;
}

LookPointer ObjectLooks::known(const std::string& path) {
  const MutexLock lock(mutex_);
  const Known* const found = known_.peek(path);
  return found ? found->look : nullptr;
}

void ObjectLooks::forget(const std::string& path) {
  const MutexLock lock(mutex_);
  known_.take(path);
}

/// Caches the look. Keeps the cached one if its state is the same, because ObjectNodes tells nodes
/// apart by the address of their look.
LookPointer ObjectLooks::remember(const std::string& path, LookPointer look, TimePoint checked,
                                  TimePoint stored) {
  const MutexLock lock(mutex_);
  if (const Known* const known = known_.peek(path); known && known->look->same_as(*look))
    look = known->look;
  static_cast<void>(known_.put(path, {look, checked, stored}));
  return look;
}

LookPointer ObjectLooks::committed(const std::string& path, const frame::Snapshot& snapshot,
                                   const frame::ObjectState& state) {
  const Verdict verdict = judge(snapshot, Role::index, settings_);
  if (SourcePointer index = frames_->own_index(path)) keep_index(path, std::move(index));
  const auto now = clock_.now();
  return remember(path, look_of(Kind::sframe, verdict, state), now, now);
}

LookPointer ObjectLooks::just_stored(const std::string& path) {
  constexpr std::chrono::seconds kJust{1};
  const MutexLock lock(mutex_);
  const Known* const known = known_.peek(path);
  const bool is_just =
      known && known->stored != TimePoint() && clock_.now() - known->stored < kJust;
  return is_just ? known->look : nullptr;
}

LookPointer ObjectLooks::stored(const std::string& path, const ObjectLook& look,
                                const frame::ObjectState& state) {
  const auto now = clock_.now();
  return remember(path, with_state(look, state), now, now);
}

// --- asking the object store

ObjectLooks::SourcePointer ObjectLooks::current(Request& request, const std::string& object) {
  request.need_slot();
  const SourcePointer kept = sources_.find(object);
  SourcePointer source =
      log_failures(request, log_, *tree_, object, [&] { return tree_->open(object, kept); });
  if (source != kept) sources_.put(object, source);
  return source;
}

ObjectLooks::SourcePointer ObjectLooks::current_if_any(Request& request,
                                                       const std::string& object) {
  try {
    return current(request, object);
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
    return nullptr;
  }
}

LookPointer ObjectLooks::look(Request& request, const std::string& path, bool is_directory,
                              const Listed& listed) {
  if (auto known = recent(path, is_directory, listed)) return known;
  return look_uncached(request, path, is_directory);
}

LookPointer ObjectLooks::look_uncached(Request& request, const std::string& path,
                                       bool is_directory) {
  const auto checked = clock_.now();
  return remember(path, is_directory ? judge_directory(request, path) : judge_object(request, path),
                  checked);
}

Verdict ObjectLooks::judge_bytes(const Request& request, const std::string& path,
                                 const Candidate& candidate) {
  ReasonedVerdict verdict =
      log_failures(request, log_, *tree_, path, [&] { return judge(candidate, settings_); });
  if (!verdict.reason.empty())
    log_.error(request.user(), fmt::format("{}: {}", tree_->url(path), verdict.reason));
  return verdict;
}

LookPointer ObjectLooks::judge_object(Request& request, const std::string& path) {
  const SourcePointer source = current(request, path);
  if (auto before = known(path);
      before && before->is_object() && before->state.same_bytes(source->state()))
    return before;
  const Verdict verdict = judge_bytes(request, path, {source, role_of(path, settings_)});
  Kind kind = verdict.is_container() ? Kind::container : Kind::plain;
  if (verdict.is_store()) kind = Kind::store;
  return look_of(kind, verdict, source->state());
}

/// Needs one request in most cases. If the name promises a frame or a store, asks for the object
/// that makes the directory one. Otherwise lists the directory, because the listing is needed next
/// anyway.
LookPointer ObjectLooks::judge_directory(Request& request, const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  const bool has_store_suffix = name.ends_with(kDirectoryStoreSuffix);
  LookPointer found;
  const bool promises_frame = !has_store_suffix && promised_by(name) != ShownAs::itself;
  if (promises_frame) found = judge_sframe(request, path);
  if (!found && settings_.stores && (has_store_suffix || has_object_(request, path, kEmbedObject)))
    found = judge_store_directory(request, path);
  if (!found && !promises_frame && has_object_(request, path, kIndexName))
    found = judge_sframe(request, path);
  if (found) return found;
  const bool is_removed = promises_frame && has_only_chunks(path);
  return look_of(is_removed ? Kind::removed : Kind::directory, {}, {});
}

/// True if the directory holds only chunks: the first commit of the frame is under way, or its host
/// has died during that commit.
bool ObjectLooks::has_only_chunks(const std::string& path) {
  if (!tree_->has_tombstones()) return false;
  const std::vector<frame::ObjectEntry> entries = tree_->list(path);
  return !entries.empty() && std::all_of(entries.begin(), entries.end(), [](const auto& entry) {
    return !entry.is_directory && frame::chunk_file_number(entry.name);
  });
}

LookPointer ObjectLooks::judge_sframe(Request& request, const std::string& path) {
  constexpr int kTries = 5;
  for (int tries = 1;; tries++) {
    const SourcePointer index = current_if_any(request, path_in(path, kIndexName));
    if (!index) return nullptr;
    // An empty index is the tombstone of a removed frame.
    if (index->state().size == 0 && tree_->has_tombstones())
      return look_of(Kind::removed, {}, index->state());
    if (auto before = known(path);
        before && before->kind == Kind::sframe && before->state.same_bytes(index->state()))
      return before;
    try {
      // frame() throws ESTALE if a commit of this mount is newer than `index`. To find that out, it
      // may ask the object store. A large index (is_over_network()) is therefore compared only when
      // the frame is opened.
      if (!index->is_over_network()) frames_->frame(path, index);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE) || tries == kTries) throw;
      continue;
    }
    const Verdict verdict = judge_bytes(request, path, {index, Role::index});
    return verdict.is_sframe() ? look_of(Kind::sframe, verdict, index->state()) : nullptr;
  }
}

LookPointer ObjectLooks::judge_store_directory(Request& request, const std::string& path) {
  const SourcePointer embed = current_if_any(request, path_in(path, kEmbedObject));
  if (!embed) return nullptr;
  const Verdict verdict = judge_bytes(request, path, {embed, Role::embed});
  return verdict.is_store_directory() ? look_of(Kind::store_directory, verdict, embed->state())
                                      : nullptr;
}

// --- opening

ObjectLooks::SourcePointer ObjectLooks::source(Request& request, const std::string& path,
                                               const ObjectLook& look) {
  const std::string& inside = look.kind == Kind::sframe ? kIndexName : kEmbedObject;
  const std::string object = look.is_object() ? path : path_in(path, inside);
  SourcePointer source = sources_.find(object);
  if (!source || !source->state().same_bytes(look.state)) source = current(request, object);
  if (source->state().same_bytes(look.state)) return source;
  forget(path);
  frame::throw_errno(ESTALE, path);
}

void ObjectLooks::keep_index(const std::string& path,
                             std::shared_ptr<const frame::ObjectSource> index) {
  constexpr std::uint64_t kSmall = 64 << 10;
  if (index->state().size <= kSmall) sources_.put(path_in(path, kIndexName), std::move(index));
}

ObjectLooks::SourcePointer ObjectLooks::kept_index(const std::string& path,
                                                   const frame::ObjectState& state) {
  SourcePointer index = sources_.find(path_in(path, kIndexName));
  return index && index->state().same_bytes(state) ? index : nullptr;
}

std::shared_ptr<const frame::Snapshot> ObjectLooks::open(Request& request, const std::string& path,
                                                         const ObjectLook& look) {
  const SourcePointer object = source(request, path, look);
  std::shared_ptr<const frame::Snapshot> snapshot;
  try {
    snapshot = log_failures(request, log_, *tree_, path, [&] {
      return look.kind == Kind::sframe ? frame::open_directory(frames_->frame(path, object))
                                       : frame::open_file(object, {});
    });
  } catch (const codec::Error&) {
    // The look may have been made by the header alone, so the damage shows only now. From now on a
    // container in one object is shown as it is. ESTALE makes the kernel look it up again.
    if (look.kind != Kind::container) throw;
    Verdict plain;
    plain.shown_size = plain.stored_size = object->stamp().size;
    remember(path, look_of(Kind::plain, plain, object->state()), clock_.now());
    frame::throw_errno(ESTALE, path);
  }
  if (!snapshot) frame::throw_errno(EIO, path + ": no frame");
  return snapshot;
}

std::unique_ptr<const Archive> ObjectLooks::open_archive(
    Request& request, const std::string& path, const ObjectLook& look,
    std::shared_ptr<MemoryBudget::Listing> charge) {
  SourcePointer object = source(request, path, look);
  std::unique_ptr<const Archive> archive;
  if (look.kind == Kind::store_directory) {
    auto store = frame::open_directory_store(frame::make_object_files(tree_, path, charge), object,
                                             {}, charge);
    if (store) archive = std::make_unique<StoreArchive>(std::move(store), settings_.raw, charge);
  } else {
    const StoreFile file{[&] { return object; }, [&] { return frame::open_file(object, {}); }};
    archive = open_store_file(file, role_of(path, settings_), settings_.raw, std::move(charge));
  }
  if (!archive) frame::throw_errno(EIO, path + ": no archive");
  return archive;
}

}  // namespace bloscfs::fs
