#include "fs/source/objects/object_looks.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/sframe_format.hpp"
#include "frame/open/open.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/archives/store_archive.hpp"
#include "fs/source/objects/told_failures.hpp"
#include "fs/support/relative_path.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {
namespace {

using Kind = ObjectLook::Kind;

/// A directory seldom becomes a frame.
constexpr std::chrono::seconds kKindTrusted{30};
constexpr std::string_view kDirectoryStoreSuffix = ".b2d";
const std::string kIndexName(frame::kSframeIndexName);
const std::string kEmbedObject(frame::kEmbedName);

}  // namespace

// --- what is known

LookPointer ObjectLooks::recent(const std::string& path, const Listed& listed) {
  const MutexLock lock(mutex_);
  Known* const known = known_.peek(path);
  if (!known) return nullptr;
  const ObjectLook& look = *known->look;
  if (look.is_object() == listed.is_directory) return nullptr;
  if (listed.state && look.is_object() && look.state.same_bytes(*listed.state))
    known->checked = std::max(known->checked, listed.at);
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

/// What stays the same stays the same look: nodes are told apart by it.
LookPointer ObjectLooks::remember(const std::string& path, LookPointer look, TimePoint checked) {
  const MutexLock lock(mutex_);
  if (const Known* const known = known_.peek(path); known && known->look->same_as(*look))
    look = known->look;
  static_cast<void>(known_.put(path, {look, checked}));
  return look;
}

ObjectLooks::SourcePointer ObjectLooks::kept_source(const std::string& object) {
  const MutexLock lock(mutex_);
  const SourcePointer* const found = sources_.find(object);
  return found ? *found : nullptr;
}

void ObjectLooks::keep_source(const std::string& object, SourcePointer source) {
  std::optional<SourcePointer> dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  dropped = sources_.put(object, std::move(source));
}

// --- what is asked for

ObjectLooks::SourcePointer ObjectLooks::current(const std::string& object) {
  TurnAtNeed::need();
  const SourcePointer kept = kept_source(object);
  SourcePointer source =
      telling_failures(log_, *tree_, object, [&] { return tree_->open(object, kept); });
  if (source != kept) keep_source(object, source);
  return source;
}

ObjectLooks::SourcePointer ObjectLooks::current_if_any(const std::string& object) {
  try {
    return current(object);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return nullptr;
    throw;
  }
}

LookPointer ObjectLooks::look(const std::string& path, const Listed& listed) {
  if (auto known = recent(path, listed)) return known;
  return look_anew(path, listed.is_directory);
}

LookPointer ObjectLooks::look_anew(const std::string& path, bool is_directory) {
  const auto checked = clock_.now();
  return remember(path, is_directory ? judge_directory(path) : judge_object(path), checked);
}

ObjectLook ObjectLooks::plain(const frame::ObjectSource& source) const {
  ObjectLook look;
  look.state = source.state();
  look.size = look.stored_size = static_cast<std::int64_t>(look.state.size);
  return look;
}

ObjectLook ObjectLooks::look_of(const frame::FrameInfo& info,
                                const frame::ObjectState& state) const {
  const ViewShape shape = view_shape(info, settings_.raw);
  ObjectLook look;
  look.kind = Kind::container;
  look.shown = shape.is_array ? ShownAs::array : ShownAs::flat;
  look.state = state;
  look.size = shape.file_size();
  look.stored_size = info.cbytes;
  return look;
}

LookPointer ObjectLooks::judge_object(const std::string& path) {
  const SourcePointer source = current(path);
  if (auto before = known(path);
      before && before->is_object() && before->state.same_bytes(source->state()))
    return before;
  ObjectLook look = plain(*source);
  try {
    if (settings_.stores && path.ends_with(frame::kZipStoreSuffix)) {
      if (frame::zip_store_kind(source, {})) look.kind = Kind::store;
    } else {
      const bool may_be_store = settings_.stores && path.ends_with(frame::kEmbedStoreSuffix);
      const auto told = may_be_store ? std::nullopt : frame::peek_far_frame(*source, 0);
      const auto snapshot = told ? nullptr : frame::open_file(source, {});
      if (told || snapshot) look = look_of(told ? *told : snapshot->info(), source->state());
      if (snapshot && may_be_store && frame::store_kind(*snapshot) == frame::StoreKind::embed)
        look.kind = Kind::store;
    }
  } catch (const codec::Error& error) {
    log_.error(fmt::format("{}: {}", tree_->url(path), error.what()));
  }
  if (look.kind == Kind::store) look.shown = ShownAs::store;
  return std::make_shared<const ObjectLook>(std::move(look));
}

/// Where a listing is refused it tells nothing of what is there. ENOENT if nothing is.
bool ObjectLooks::has_object(const std::string& directory, const std::string& name) const {
  try {
    return has_object_(directory, name);
  } catch (const std::system_error& error) {
    const bool is_gone = error.code() == std::errc::no_such_file_or_directory;
    if (!is_gone && frame::is_refusal(error.code())) return false;
    throw;
  }
}

/// One request tells what it is: of a name that promises a frame or a store the object that makes
/// it one, else its listing, which is wanted next.
LookPointer ObjectLooks::judge_directory(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  const bool promises_store = name.ends_with(kDirectoryStoreSuffix);
  LookPointer found;
  const bool promises_frame = !promises_store && promised_by(name) != ShownAs::itself;
  if (promises_frame) found = judge_sframe(path);
  if (!found && settings_.stores && (promises_store || has_object(path, kEmbedObject)))
    found = judge_store_directory(path);
  if (!found && !promises_frame && has_object(path, kIndexName)) found = judge_sframe(path);
  if (found) return found;
  ObjectLook look;
  look.kind = promises_frame && has_only_chunks(path) ? Kind::removed : Kind::directory;
  return std::make_shared<const ObjectLook>(std::move(look));
}

/// Of a frame whose first commit is under way, or whose host has died in it.
bool ObjectLooks::has_only_chunks(const std::string& path) {
  if (!tree_->has_tombstones()) return false;
  const std::vector<frame::ObjectEntry> entries = tree_->list(path);
  return !entries.empty() && std::all_of(entries.begin(), entries.end(), [](const auto& entry) {
    return !entry.is_directory && frame::chunk_file_number(entry.name);
  });
}

std::unique_ptr<frame::Snapshot> ObjectLooks::open_sframe(const std::string& path,
                                                          const SourcePointer& index) const {
  return frame::open_directory(frames_->frame(path, index));
}

/// A commit of this mount may come in between.
LookPointer ObjectLooks::judge_sframe(const std::string& path) {
  constexpr int kTries = 5;
  for (int tries = 1;; tries++) {
    try {
      return try_judge_sframe(path);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE) || tries == kTries) throw;
    }
  }
}

LookPointer ObjectLooks::try_judge_sframe(const std::string& path) {
  const SourcePointer index = current_if_any(path_in(path, kIndexName));
  if (!index) return nullptr;
  // What a frame leaves that was removed.
  if (index->state().size == 0 && tree_->has_tombstones()) {
    ObjectLook look;
    look.kind = Kind::removed;
    look.state = index->state();
    return std::make_shared<const ObjectLook>(std::move(look));
  }
  if (auto before = known(path);
      before && before->kind == Kind::sframe && before->state.same_bytes(index->state()))
    return before;
  try {
    const auto told = frame::peek_far_frame(*index, 1);
    const auto snapshot = told ? nullptr : open_sframe(path, index);
    if (!told && !snapshot) return nullptr;
    ObjectLook look = look_of(told ? *told : snapshot->info(), index->state());
    look.kind = Kind::sframe;
    look.stored_size += static_cast<std::int64_t>(index->state().size);
    return std::make_shared<const ObjectLook>(std::move(look));
  } catch (const codec::Error& error) {
    log_.error(fmt::format("{}: {}", tree_->url(path), error.what()));
    return nullptr;
  }
}

LookPointer ObjectLooks::judge_store_directory(const std::string& path) {
  const SourcePointer embed = current_if_any(path_in(path, kEmbedObject));
  if (!embed) return nullptr;
  ObjectLook look;
  look.kind = Kind::store_directory;
  look.shown = ShownAs::store;
  look.state = embed->state();
  try {
    const auto snapshot = frame::open_file(embed, {});
    if (!snapshot || !frame::store_kind(*snapshot)) return nullptr;
  } catch (const codec::Error& error) {
    log_.error(fmt::format("{}: {}", tree_->url(path), error.what()));
    return nullptr;
  }
  return std::make_shared<const ObjectLook>(std::move(look));
}

// --- opening

std::string ObjectLooks::object_of(const std::string& path, Kind kind) const {
  if (kind == Kind::sframe) return path_in(path, kIndexName);
  return kind == Kind::store_directory ? path_in(path, kEmbedObject) : path;
}

ObjectLooks::SourcePointer ObjectLooks::source(const std::string& path, const ObjectLook& look) {
  const std::string object = object_of(path, look.kind);
  SourcePointer source = kept_source(object);
  if (!source || !source->state().same_bytes(look.state)) source = current(object);
  if (source->state().same_bytes(look.state)) return source;
  forget(path);
  frame::throw_errno(ESTALE, path);
}

std::shared_ptr<const frame::Snapshot> ObjectLooks::open(const std::string& path,
                                                         const ObjectLook& look) {
  const SourcePointer object = source(path, look);
  std::shared_ptr<const frame::Snapshot> snapshot;
  try {
    snapshot = look.kind == Kind::sframe ? open_sframe(path, object) : frame::open_file(object, {});
  } catch (const codec::Error& error) {
    // Its header alone was looked at until now.
    log_.error(fmt::format("{}: {}", tree_->url(path), error.what()));
    if (look.kind != Kind::container) throw;
    remember(path, std::make_shared<const ObjectLook>(plain(*object)), clock_.now());
    frame::throw_errno(ESTALE, path);
  }
  if (!snapshot) frame::throw_errno(EIO, path + ": no frame");
  return snapshot;
}

std::unique_ptr<const Archive> ObjectLooks::open_archive(
    const std::string& path, const ObjectLook& look,
    std::shared_ptr<MemoryBudget::Listing> charge) {
  const SourcePointer object = source(path, look);
  std::unique_ptr<const Archive> archive;
  if (look.kind == Kind::store_directory) {
    auto store = frame::open_directory_store(frame::make_object_files(tree_, path, charge), object,
                                             {}, charge);
    if (store) archive = std::make_unique<StoreArchive>(std::move(store), settings_.raw, charge);
  } else if (const ArchiveKind* const kind = archive_kind_of(path)) {
    archive = kind->open({[&] { return object; }, [&] { return frame::open_file(object, {}); }},
                         settings_.raw, std::move(charge));
  }
  if (!archive) frame::throw_errno(EIO, path + ": no archive");
  return archive;
}

}  // namespace bloscfs::fs
