#include "fs/source/local/names/node_home.hpp"

#include <cerrno>
#include <optional>
#include <set>
#include <string_view>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/store/local_store.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/directory_times.hpp"
#include "fs/source/local/files/target_name.hpp"
#include "fs/source/local/names/lock_sidecar.hpp"
#include "fs/source/local/names/name_choice.hpp"
#include "fs/source/local/names/replacement.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

/// Returns the object of a node, and sets `place`. Returns nullopt if the node has no name any
/// more. Throws ESTALE if another object has the node's name.
std::optional<NamedObject> find_stored(const NameServices& services, TreeLooks& names, NodeId node,
                                       StoredPlace& place) {
  place = {};
  // Accepts any state of the file: only the content's writer can tell its own changes from those of
  // other programs.
  auto object = names.object(node, TreeLooks::State::any);
  if (!object) {
    if (services.tree.has_name(node)) frame::throw_errno(ESTALE, services.tree.display_path(node));
    place.is_unlinked = true;
    place.directory = frame::make_local_store(services.root.enter({}), nullptr);
    return object;
  }
  place.directory =
      frame::make_local_store(services.root.enter(object->directory_path, &names.work()), nullptr);
  place.name = object->stored_name;
  place.is_temporary = object->is_pending;
  place.is_sparse = object->entry.is_sframe();
  place.has_links = has_links(*object);
  place.meant = identity_of(object->entry.own_stat);
  if (object->entry.object)
    place.open_file = [file = object->entry.object] { return file->open_to_write(); };
  place.can_be_array = is_array_name(object->full_name) ||
                       is_array_name(preferred_name(object->full_name, object->entry.shown));
  return object;
}

/// Returns the names, without suffix, that python-blosc2 may give to results of queries on an
/// array. python-blosc2 cuts off everything from the first dot on.
std::set<std::string> result_names(const std::string& full_name) {
  const std::string_view name = stem(full_name);
  const std::size_t dot = name.find('.', name.find_first_not_of('.'));
  const bool is_npy = name.ends_with(kNpySuffix);
  return {std::string(name), std::string(name.substr(0, dot)),
          std::string(
              name.substr(0, is_npy ? name.size() - kNpySuffix.size() : std::string_view::npos))};
}

}  // namespace

class NodeHome::Lock final : public NameLock {
 public:
  Lock(std::shared_ptr<NamesWork> work, NameServices& services, NodeId node)
      : services_(services),
        node_(node),
        work_(std::move(work)),
        names_(*work_, services.tree, ChangedBy::daemon) {
    look();
    // Users saw the directory's times change when the file got its shown name. The commit must not
    // change them again.
    if (!object_) return;
    const SourcePath& directory_path = object_->directory_path;
    directory_times_.emplace(
        work_->request(),
        SourceObject(services_.root.enter(directory_path, work_.get()), directory_path.text()),
        [this, directory = object_->directory](const timespec& before, const timespec& after) {
          names_.note_hidden_change(directory, before, after);
        });
  }

  const StoredPlace& place() const override { return place_; }
  const RepresentationNames& names() override;
  std::string give_name(const std::string& stored_name, const frame::FileId& made,
                        const std::string& wanted_name, ShownAs shown,
                        const std::function<bool()>& is_unchanged) override;
  bool refresh(const frame::FileStamp& own) override {
    if (place_.is_unlinked) return true;
    work_->renew();  // the frame layer may have renamed files
    if (!names_.rewritten(*object_, own)) return false;
    follow_mount_lock(place_.name);
    return true;
  }

  Need before_replacing(const ChooseName& choose);
  Need take_final_name(const frame::FileId& made, const std::string& full_name);

 private:
  void look();
  void follow_mount_lock(const std::string& stored_name);
  std::string name_as(ShownAs shown);
  NamedObject made_object(const SourceDirectory& directory, const std::string& stored_name,
                          const frame::FileId& made, ShownAs shown) const;

  NameServices& services_;
  const NodeId node_;
  const std::shared_ptr<NamesWork> work_;
  TreeChanges names_;
  std::optional<DirectoryTimes> directory_times_;
  std::optional<NamedObject> object_;
  std::string shown_name_;
  StoredPlace place_;
  std::optional<RepresentationNames> representations_;
};

void NodeHome::Lock::look() {
  representations_.reset();
  object_ = find_stored(services_, names_, node_, place_);
}

const RepresentationNames& NodeHome::Lock::names() {
  if (representations_) return *representations_;
  representations_.emplace();
  if (!object_) return *representations_;
  shown_name_ = names_.shown_name(*object_);
  representations_->flat = name_as(ShownAs::flat);
  if (!services_.policy.raw && is_array_name(shown_name_))
    representations_->array = name_as(ShownAs::array);
  return *representations_;
}

std::string NodeHome::Lock::name_as(ShownAs shown) {
  if (object_->entry.shown == shown) return object_->full_name;
  // The suffix depends on the representation, so the old suffix is kept only for a plain file.
  const bool was_plain = object_->entry.shown == ShownAs::itself;
  return choose_name(names_, object_->directory, shown_name_, shown,
                     was_plain ? object_->full_name : std::string(), services_.policy,
                     {{&*object_}});
}

/// In a mount of one container, the file with the stored name `stored_name` may have replaced
/// SOURCE. Makes the mount lock hold the flock on that file.
void NodeHome::Lock::follow_mount_lock(const std::string& stored_name) {
  if (services_.lock != nullptr && services_.tree.is_virtual(object_->directory))
    services_.lock->follow(services_.root.object(stored_name, work_.get()).open(O_RDONLY));
}

/// Does the work of ContentHome::lock_to_replace(): makes removals durable, and prepares the name
/// that `choose` returns.
Need NodeHome::Lock::before_replacing(const ChooseName& choose) {
  if (object_) {
    if (Need need = services_.unsynced_names.before_giving_up(*work_)) return need;
    if (Need need = services_.unsynced_names.before_replacing(*work_, object_->entry.own_stat))
      return need;
  }
  const auto chosen = choose(*this);
  if (!chosen || !object_) return {};
  const SourceDirectory directory = names_.directory(object_->directory_path);
  names();
  const std::string before = object_->stored_name;
  std::string taken;
  if (Need need =
          prepare_name(names_, services_, &*object_,
                       {nullptr, directory, shown_name_, chosen->full_name, chosen->shown}, taken))
    return need;
  if (object_->stored_name != before) look();
  return {};
}

/// `stored_name` is the stored name of the file `made`, which the commit has made.
std::string NodeHome::Lock::give_name(const std::string& stored_name, const frame::FileId& made,
                                      const std::string& wanted_name, ShownAs shown,
                                      const std::function<bool()>& is_unchanged) {
  if (place_.is_unlinked) return stored_name;
  require_no_links(*object_);
  names();
  NamedObject before = *object_;
  const SourceDirectory directory = names_.directory(before.directory_path);
  const NamedObject placed = made_object(directory, stored_name, made, shown);
  const CommitPrecondition precondition{place_.directory, is_unchanged};
  Replacement replacement(names_, services_,
                          {placed, directory, directory, shown_name_, &before, &precondition});
  // The operation is not called again, so place() does its long work at once, under the lock, and
  // returns an empty Need.
  static_cast<void>(replacement.place(wanted_name));
  const std::string& full_name = replacement.placed_as();
  SourceEntry entry = placed.entry;
  entry.own_stat = entry.content_stat = replacement.placed_state();
  names_.replaced(before, full_name, entry);
  follow_mount_lock(full_name);
  place_.name = full_name;
  place_.is_temporary = false;
  replacement.remove_old();
  return full_name;
}

Need NodeHome::Lock::take_final_name(const frame::FileId& made, const std::string& full_name) {
  if (!object_) return {};
  names();
  bool is_ours = true;
  try {
    if (Need need =
            fs::take_final_name(names_, services_, *object_, made, shown_name_, full_name, is_ours))
      return need;
  } catch (const std::system_error& error) {
    // The file keeps the interim name, under which it is shown the same.
    log::warn(fmt::format(
        "{}: cannot rename the temporary file in SOURCE: {}; rename it in the mount to try again",
        services_.tree.display_path(node_), error.what()));
  }
  if (!is_ours) throw_overtaken(place_.name);
  look();
  follow_mount_lock(place_.name);
  return {};
}

/// Describes the file `made`, which a commit has made, as an object without a node.
/// `stored_name` is the stored name of the file.
NamedObject NodeHome::Lock::made_object(const SourceDirectory& directory,
                                        const std::string& stored_name, const frame::FileId& made,
                                        ShownAs shown) const {
  const auto st = directory.stat(stored_name);
  if (!st || !(identity_of(*st) == made)) throw_overtaken(stored_name);
  NamedObject object;
  object.directory = object_->directory;
  object.directory_path = object_->directory_path;
  object.full_name = object.stored_name = stored_name;
  object.entry.shown = shown;
  object.entry.kind = EntryKind::frame;
  object.entry.own_stat = object.entry.content_stat = *st;
  return object;
}

NodeHome::NodeHome(NameServices& services, NodeId node)
    : services_(services), node_(node), takeover_(services, node) {
  services_.tree.pin(node_);
}

NodeHome::~NodeHome() { services_.tree.unpin(node_); }

std::string NodeHome::path() {
  const auto name = services_.tree.name_of(node_);
  return name ? name->path().text() : std::string();
}

std::unique_ptr<NameLock> NodeHome::lock(Request& request,
                                         const std::function<Need(Lock&)>& prepare) {
  const auto work = std::make_shared<NamesWork>(request);
  std::unique_ptr<Lock> locked;
  work->run([&] {
    auto lock = std::make_unique<Lock>(work, services_, node_);
    Need need = prepare(*lock);
    if (!need) locked = std::move(lock);
    return need;
  });
  return locked;
}

std::unique_ptr<NameLock> NodeHome::lock_name(Request& request) {
  return lock(request, [](Lock&) { return Need(); });
}

std::unique_ptr<NameLock> NodeHome::lock_to_replace(Request& request, const ChooseName& choose) {
  return lock(request, [&](Lock& lock) { return lock.before_replacing(choose); });
}

std::unique_ptr<NameLock> NodeHome::take_final_name(Request& request, const frame::FileId& made,
                                                    const std::string& full_name) {
  return lock(request, [&](Lock& lock) { return lock.take_final_name(made, full_name); });
}

bool NodeHome::has_array_name(Request& request) {
  const auto choose = [](Lock& lock) {
    lock.names();
    return Need();
  };
  return !lock(request, choose)->names().array.empty();
}

StoredPlace NodeHome::place_now(Request& request) {
  NamesWork work(request);
  return work.run([&] {
    ReadTree names(work, services_.tree);
    StoredPlace place;
    find_stored(services_, names, node_, place);
    return place;
  });
}

void NodeHome::require_changeable(Request& request) {
  const auto name = services_.tree.name_of(node_);
  if (!name || name->is_lost) return;
  services_.columns.require_changeable(services_.root, name->path().text());
  if (name->shown == ShownAs::array || name->full_name.ends_with(kArraySuffix) ||
      stem(name->full_name).ends_with(kNpySuffix))
    remove_results(request, *name);
}

/// Durably removes the files in which python-blosc2 has cached results of queries on the array.
void NodeHome::remove_results(Request& request, const Tree::NodeName& array) {
  const SourceDirectory directory = services_.root.directory(array.directory_path);
  std::vector<std::string> results;
  for (const std::string& stem : result_names(array.full_name)) {
    const std::string name = stem + ".__query_cache__.b2frame";
    // The array itself may have the name of such a result. It is about to change, and must stay.
    if (name != array.full_name && directory.stat(name)) results.push_back(name);
  }
  if (results.empty()) return;
  request.need_slot();
  const Change change = Change::by_daemon(request);
  bool is_removed = false;
  for (const std::string& name : results) {
    NamesWork work(change);
    const TreeChanges names(work, services_.tree, ChangedBy::daemon);
    // Another program may have removed or replaced the result since the look above.
    const auto st = directory.stat(name);
    if (!st || !S_ISREG(st->st_mode)) continue;
    directory.remove_file(names.change(), name);
    remove_sidecar(names.change(), directory, name);
    is_removed = true;
  }
  if (is_removed) directory.sync();
}

}  // namespace bloscfs::fs
