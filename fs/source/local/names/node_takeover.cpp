#include "fs/source/local/names/node_takeover.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "frame/store/local_store.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/encoding/plain_to_frame.hpp"
#include "fs/source/local/names/name_choice.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

/// Most attempts of NodeTakeover::follow() while SOURCE keeps changing.
constexpr int kFollowTries = 20;
constexpr const char* kAccessList = "system.posix_acl_access";

bool has_access_list(const frame::FileAttributes& attributes) {
  for (const auto& attribute : attributes.extended)
    if (attribute.name == kAccessList) return true;
  return false;
}

/// True for the extended attributes that a saved copy gets from its file. Others belong to the
/// system, such as SELinux labels.
bool is_taken(const std::string& attribute) {
  return attribute == kAccessList || attribute.starts_with("user.");
}

/// Returns the permissions of a file. If it has an access list, returns only the owner's, since the
/// group bits are then the list's mask.
mode_t permitted(const SourceObject& file) {
  const auto names = file.attribute_names();
  const bool has_list = std::find(names.begin(), names.end(), kAccessList) != names.end();
  return file.stat().st_mode & (has_list ? S_IRWXU : mode_t{0777});
}

/// True if every user who could open a file with the attributes `before` may open a file with the
/// attributes `now`. Another program may have put any user's file under the name.
bool permits_as_much(const struct stat& now, const struct stat& before) {
  const mode_t wanted = before.st_mode & mode_t{0777};
  if (now.st_uid == before.st_uid && now.st_gid == before.st_gid)
    return (wanted & ~now.st_mode) == 0;
  // The owner or the group differs, so a user who had the file open may now be in any class. For
  // example, after mode 0640 the new file must let others read and write.
  return ((wanted >> 6 | wanted >> 3 | wanted) & 07 & ~now.st_mode) == 0;
}

/// True if `user` may make files in the directory. Looks only at the owner's and others'
/// permissions: the groups of a user who wrote long ago are not known.
bool may_make_files(const struct stat& directory, uid_t user) {
  if (user == 0 || user == ::geteuid()) return true;
  const mode_t wanted = S_IWOTH | S_IXOTH;
  const mode_t granted = directory.st_uid == user ? directory.st_mode >> 6 : directory.st_mode;
  return (granted & wanted) == wanted;
}

/// Removes the temporary of a pending file, which is not needed any more. The temporary may be gone
/// with its directory.
void remove_waiting(const Change& change, const NameServices& services,
                    const Tree::NodeName& name) {
  if (!name.pending_stored_name) return;
  try {
    services.root.directory(name.directory_path).remove_file(change, *name.pending_stored_name);
  } catch (const std::system_error& error) {
    // If the temporary stays, a later mount removes it. The tree is up to date without that.
    if (error.code() != std::errc::no_such_file_or_directory)
      log::warn(change.request().user(), error.what());
  }
}

class NodeSavedCopy final : public SavedCopy {
 public:
  NodeSavedCopy(Request& request, NameServices& services, NodeId node, ShownAs shown, uid_t user,
                SavedCopyKind kind)
      : request_(request), services_(services), user_(user), kind_(kind) {
    const auto name = services.tree.name_of(node);
    if (!name) frame::throw_errno(ESTALE, "file without a name");
    of_ = *name;
    shown_name_ = preferred_name(of_.full_name, shown);
    if (kind == SavedCopyKind::rescue) {
      place_ = services.rescue->place_for(shown_path());
    } else {
      // Without a directory of its own, the copy is made in SOURCE itself.
      if (kind == SavedCopyKind::conflict) choose_directory();
      if (!place_.directory) place_.directory = store({});
    }
  }
  std::string path() const override { return of_.path().text(); }
  std::shared_ptr<frame::StoreDirectory> directory() const override { return place_.directory; }

  std::string keep(const StoredFrame& made, const frame::FrameWriter* writer, Loss loss) override {
    take_attributes(made, writer);
    if (kind_ == SavedCopyKind::conflict) {
      NamesWork work(request_);
      return work.run([&] {
        TreeChanges names(work, services_.tree, ChangedBy::daemon);
        return name_frame(names, services_.policy, names.directory(directory_node_), made.name,
                          directory_node_, shown_name_, FirstName::conflict);
      });
    }
    if (kind_ == SavedCopyKind::recovery) {
      Journal* const journal = services_.journal();
      if (journal == nullptr)
        frame::throw_errno(ESTALE,
                           "cannot keep the changes: SOURCE has no lock file to record them in");
      // Before the journal names the frame, the names of both the frame and the journal must be
      // durable. They are in the same directory.
      place_.directory->sync();
      journal->add(KeptFile{made.name, shown_path(), loss});
    } else {
      RescueFolder::mark(place_, loss);
      place_.directory->rename(made.name, place_.name, frame::RenameMode::no_replace);
      place_.directory->sync_name(place_.name);
    }
    remove_waiting(Change::by_daemon(request_), services_, of_);
    if (kind_ == SavedCopyKind::recovery)
      return fmt::format("{}, which `b2frame recover {}` gives a name", made.name,
                         services_.source);
    return fmt::format("{}, which `{}` brings back", place_.path,
                       services_.rescue->recover_command());
  }

 private:
  std::string shown_path() const { return join_path(of_.directory_path.text(), shown_name_); }
  std::shared_ptr<frame::StoreDirectory> store(const SourcePath& path) const {
    return frame::make_local_store(services_.root.open(path, O_RDONLY | O_DIRECTORY), nullptr);
  }

  /// A conflict file goes next to its file, or into SOURCE itself if the file's directory is gone.
  /// If the user may not make files in SOURCE itself, the frame becomes a temporary that the
  /// journal names.
  void choose_directory() {
    try {
      if (!of_.is_lost) place_.directory = store(of_.directory_path);
      directory_node_ = of_.directory;
    } catch (const std::system_error& error) {
      if (!frame::is_refusal(error.code())) throw;  // on a refusal the directory counts as gone
    }
    if (!place_.directory && !may_make_files(services_.root.stat({}).value(), user_))
      kind_ = SavedCopyKind::recovery;
  }

  /// Gives the frame the owner, permissions and user attributes of the file that was written to. A
  /// user may read it only if they may read both that file and the file that has its name now. Two
  /// access lists are not compared: the frame gets that of the file unless another file has its
  /// name, and then only the owner may read the frame.
  void take_attributes(const StoredFrame& made, const frame::FrameWriter* writer) const {
    frame::FileAttributes wanted = made.writer->attributes();
    // The frame has inherited the access list of the directory in which it was made.
    std::erase_if(wanted.extended, [](const auto& attribute) { return is_taken(attribute.name); });
    frame::FileAttributes old = wanted;
    mode_t now = 0777;
    bool is_replaced = false;
    try {
      std::optional<frame::FileId> own;
      if (writer != nullptr) {
        old = writer->attributes();
        own = frame::id_of(writer->stamp());
      } else if (of_.pending_stored_name) {
        old = store(of_.directory_path)->open(*of_.pending_stored_name)->attributes();
      }
      if (const auto found = services_.root.stat(of_.path())) {
        is_replaced = frame::id_of(frame::stamp_of(*found)) != own;
        now = permitted(services_.root.object(of_.path()));
      }
    } catch (const std::system_error&) {
      old.owner = user_;
      old.mode = 0600;  // if the attributes cannot be read, others get no permissions
      old.extended.clear();
    }
    wanted.owner = old.owner;
    wanted.group = old.group;
    wanted.mode = old.mode & now & mode_t{0777};
    // With a list, the group's bits are its mask. Setting the list sets them; without it, the
    // group would get them as permissions.
    if (has_access_list(old)) wanted.mode &= S_IRWXU;
    frame::FileAttributes all = wanted;
    for (auto& attribute : old.extended)
      if (is_taken(attribute.name) && (attribute.name != kAccessList || !is_replaced))
        all.extended.push_back(std::move(attribute));
    try {
      made.writer->set_attributes(all);
    } catch (const std::system_error& error) {
      // For example, the rescue folder has no room for them. The contents come first.
      made.writer->set_attributes(wanted);
      log::warn(request_.user(),
                fmt::format("{}: kept without its extended attributes ({})", path(), error.what()));
    }
  }

  Request& request_;
  NameServices& services_;
  const uid_t user_;
  SavedCopyKind kind_;
  Tree::NodeName of_;
  std::string shown_name_;
  RescueFolder::Place place_;  ///< for other kinds than a rescue, only `directory` is used
  NodeId directory_node_ = kRootId;
};

}  // namespace

std::unique_ptr<SavedCopy> NodeTakeover::saved_copy(Request& request, SavedCopyKind kind,
                                                    ShownAs shown, uid_t user) {
  if (kind == SavedCopyKind::rescue && services_.rescue == nullptr) return nullptr;
  return std::make_unique<NodeSavedCopy>(request, services_, node_, shown, user, kind);
}

bool NodeTakeover::is_being_written(Request& request) {
  const auto name = services_.tree.name_of(node_);
  if (!name) return false;
  const auto seen = services_.tree.successor(request, *name);
  return seen && seen->may_be_unfinished();
}

Takeover::Following NodeTakeover::follow(Request& request, const MakeReady& make_ready) {
  for (int tries = 0; tries < kFollowTries; tries++) {
    const auto name = services_.tree.name_of(node_);
    if (!name) return {};
    // Another thread may have renamed the pending file to a free name while this one saved its
    // contents. Then the content need not follow any file.
    if (name->pending_stored_name && services_.tree.is_in_place(node_))
      frame::throw_errno(ESTALE, name->path().text());
    auto seen = services_.tree.successor(request, *name);
    Following following;
    following.is_being_written = seen && seen->may_be_unfinished();
    if (following.is_being_written) return following;
    // The content cannot go on with an object that it cannot write as a container, nor with one
    // that users who have the old file open might not open.
    const auto file = services_.tree.opened(node_);
    following.must_not_follow =
        seen && (!seen->is_container() || seen->is_read_only ||
                 (file && !permits_as_much(services_.tree.attributes_of(*seen), file->attributes)));
    if (following.must_not_follow) seen.reset();
    if (seen && !(following.successor = open_successor(name->path(), *seen))) continue;
    if (!make_ready(following.successor)) continue;
    NamesWork work(request);
    TreeChanges names(work, services_.tree, ChangedBy::daemon);
    TreeChanges::Followed followed;
    // The successor was opened without the lock. Another program may have replaced it again before
    // the tree adopts it. names.follow() detects that, and the loop tries again.
    if (!names.follow(node_, *name, seen, followed)) continue;
    remove_waiting(names.change(), services_, *name);
    if (followed.is_taken) return {nullptr, false, true};
    following.is_own_file = followed.is_own_file;
    return following;
  }
  frame::throw_errno(ESTALE, "another program keeps changing the file");
}

/// Opens the file that was judged as `seen`. Returns null if it has changed since then.
std::shared_ptr<const frame::Snapshot> NodeTakeover::open_successor(const SourcePath& path,
                                                                    const SourceEntry& seen) const {
  try {
    std::shared_ptr<const frame::Snapshot> snapshot = services_.tree.classifier().open(path, seen);
    const bool is_it = snapshot && snapshot->stamp() == frame::stamp_of(seen.content_stat);
    return is_it ? snapshot : nullptr;
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
    return nullptr;
  }
}

}  // namespace bloscfs::fs
