#pragma once
// What a file's content asks of the tree when it is committed: where it is stored, under which
// name it shall be, and to tell the tree what has become of it.

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include <sys/stat.h>

#include "frame/container/frame_writer.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/store/byte_store.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/view/naming.hpp"

namespace bloscfs::fs {

/// Where a container is stored. Names are full names in SOURCE.
struct StoredPlace {
  std::shared_ptr<frame::StoreDirectory> directory;  ///< where its files are, or were
  std::string name;  ///< what it has now; a temporary's until its first commit
  bool is_temporary = false;
  bool is_sparse = false;
  bool has_links = false;    ///< has other names, which would keep what is replaced under this one
  bool is_unlinked = false;  ///< has no name any more: commits stay in the file
  /// Containers are sparse frames that other hosts write to as well; a new one has its own name
  /// from the start, where nobody finds it before its first commit.
  bool is_shared = false;
  std::optional<frame::FileId> meant;  ///< what has that name, unless somebody has changed that
  /// Opens the same to read and write it, whatever has its name by now; null for no file of this
  /// host.
  std::function<frame::UniqueFd()> open_file;
  bool can_be_array = true;  ///< false: it is shown by a name that no array has
};

/// What a container is called as a flat frame (a new one: NAME + suffix), and as an array. Empty
/// where it cannot be one: no array unless shown as NAME.npy, and none where another file is in the
/// way.
struct RepresentationNames {
  std::string flat, array;
};

struct StoredFrame;

/// Where a frame is made of contents that cannot be stored in their own place.
class Refuge {
 public:
  virtual ~Refuge() = default;
  /// Path below SOURCE of the file that they were written to, for messages.
  virtual std::string path() const = 0;
  /// For the frame while it is written.
  virtual std::shared_ptr<frame::StoreDirectory> directory() const = 0;
  /// The name that it has there from the start, as a sparse frame as of StoredPlace::is_shared;
  /// nothing: a temporary's.
  virtual std::optional<std::string> shared_name() const { return std::nullopt; }
  /// To be called when shared_name() turned out to be taken: it is another one then. False where
  /// there is none.
  virtual bool take_another_name() { return false; }
  /// Keeps the complete frame, durably. It gets the owner of the file that `writer` has open (null:
  /// of a new one), and what both that and the file that has the name now permit. Returns its path
  /// below SOURCE.
  virtual std::string keep(const StoredFrame& made, const frame::FrameWriter* writer) = 0;
};

/// Another program is writing the file in place: a look somewhat later finds it whole.
class BeingWritten : public std::system_error {
 public:
  explicit BeingWritten(const std::string& path)
      : std::system_error(frame::errno_code(ESTALE), path + ": being written") {}
};

/// What a commit does about a file that is being written: whoever serves others, too, does not
/// wait.
enum class IfBeingWritten { wait, fail };

/// Thread-safe. Lives at least as long as the content, and keeps its node.
class ContentHome {
 public:
  virtual ~ContentHome() = default;

  /// Path below SOURCE that the file has or waits for; empty where it has none.
  virtual std::string path() = 0;

  // --- when another program has changed the file

  /// True while the name leads to the file that the tree knows as the content's.
  virtual bool is_in_place() = 0;
  /// This mount has removed the file, though its content may not be told yet: what was written to
  /// it is nobody's.
  virtual bool is_removed_here() { return false; }
  /// Throws BeingWritten where what has the name now is.
  virtual void require_finished() = 0;
  /// Beside the file, as NAME.conflict-YYYYMMDDThhmmss[-N] (UTC; NAME as the mount shows it). Where
  /// the directory is gone: in SOURCE itself if the user who has written may make files there, else
  /// for recovery.
  virtual std::unique_ptr<Refuge> conflict_refuge(ShownAs shown, uid_t user) = 0;
  /// In SOURCE, as a temporary that its journal names (fs/source/local/files/journal.hpp).
  virtual std::unique_ptr<Refuge> recovery_refuge(ShownAs shown, uid_t user) = 0;
  /// Outside of SOURCE (fs/source/local/files/rescue_folder.hpp); null where there is no such
  /// place.
  virtual std::unique_ptr<Refuge> rescue_refuge(ShownAs /*shown*/, uid_t /*user*/) {
    return nullptr;
  }
  /// What a content goes on from. With neither, the file has gone, or is no frame any more.
  struct Following {
    std::shared_ptr<const frame::Snapshot> successor;
    /// The successor is the content's own file, changed in place: no other file has replaced it.
    bool is_own_file = false;
    /// The name leads to something else: to no frame, to a damaged one, to a file that the mount
    /// has open with changes of its own, or to one that not all users of this content may open.
    bool is_no_successor = false;
  };
  /// Opens what has the name now, which is the content's file from now on, in the eyes of the tree.
  /// Without a successor the content's file has no name any more. Throws BeingWritten; ESTALE where
  /// SOURCE does not come to rest, and where the file is in its place again. `make_ready` is given
  /// each successor that is opened, or null where there is none, before the tree goes on. Where it
  /// gives false the look begins anew; it may throw: then nothing has changed.
  using MakeReady = std::function<bool(const std::shared_ptr<const frame::Snapshot>&)>;
  virtual Following follow(const MakeReady& make_ready) = 0;
  /// Has the kernel forget what it keeps of the contents. `done` is called, from any thread, when
  /// it has written what was changed in it, and has nothing any more.
  virtual void forget_pages(std::function<void()> done) = 0;

  /// Keeps every name in the mount as it is while it lives, so that everybody waits for who has it;
  /// taken last of all locks. Errors are
  /// std::system_error: ESTALE when somebody else has put something else in the file's place.
  class NameLock {
   public:
    virtual ~NameLock() = default;
    virtual const StoredPlace& place() const = 0;
    /// Found out when first asked for.
    virtual const RepresentationNames& names() = 0;
    /// To be called before another file takes the place of the content's, in whatever way: no name
    /// that was removed shows that one again after a power cut.
    virtual void before_replacing() = 0;
    /// To be called before give_name() with that name, while there may be breaks
    /// (fs/support/lock_breaks.hpp).
    virtual void before_giving_name(const std::string& full_name, ShownAs shown) = 0;
    /// Gives the complete container `stored_as` of place().directory, which is the file `made`, the
    /// name `full_name` (one of place().name and names()), by which it is shown as `shown`, where
    /// it replaces what the content was until now, and tells the tree that this is the content's
    /// file now. ESTALE where it is another file. A sudden end leaves one of the two in sight.
    /// Returns the name that it has then: another one where take_own_name() is to follow. ESTALE,
    /// and nothing is replaced, where another program has changed what the content was;
    /// `is_unchanged` tells, and is asked when nobody can do that any more by its name.
    virtual std::string give_name(const std::string& stored_as, const frame::FileId& made,
                                  const std::string& full_name, ShownAs shown,
                                  const std::function<bool()>& is_unchanged) = 0;
    /// Gives the file `made`, which give_name() has placed under another name, its own one,
    /// `full_name`, when that placing is durable; while there may be breaks. Returns the name that
    /// it has then, the same as before where that cannot be. ESTALE where another program's file
    /// was in its place.
    virtual std::string take_own_name(const frame::FileId& made, const std::string& full_name) = 0;
    /// Tells the tree that the file now under place().name is the content's (after a commit in
    /// place, or by a rename that the frame layer made), so that it is not taken for a change.
    /// False, and nothing is told, if that is not the file of the stamp `own`.
    virtual bool refresh(const frame::FileStamp& own) = 0;
  };
  virtual std::unique_ptr<NameLock> lock_name() = 0;
  /// Where it is at this moment: for those who find out by themselves that it has moved since.
  virtual StoredPlace place_now() { return lock_name()->place(); }

  /// Has the kernel forget the attributes that it keeps of the file: a commit has changed them.
  virtual void forget_attributes() {}

  /// A commit is durable, and has left that state.
  virtual void committed(const frame::Snapshot& /*snapshot*/) {}

  /// Before the file is opened for writing. Throws EROFS, saying why, where other files keep
  /// indexes of its values (fs/source/local/names/value_dependents.hpp).
  virtual void require_changeable() {}
};

}  // namespace bloscfs::fs
