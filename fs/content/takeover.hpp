#pragma once
// The interface for a content whose file another program has changed.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "frame/container/frame_writer.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/store/byte_store.hpp"
#include "fs/support/loss.hpp"
#include "fs/support/request.hpp"
#include "fs/view/shown_as.hpp"

namespace bloscfs::fs {

class Request;
struct StoredFrame;

/// Saves contents that cannot be stored in their own place as a new frame. Belongs to the request,
/// which outlives it.
class SavedCopy {
 public:
  virtual ~SavedCopy() = default;
  /// Returns the path below SOURCE of the file that the contents were written to, for messages.
  virtual std::string path() const = 0;
  /// The directory in which the frame is written.
  virtual std::shared_ptr<frame::StoreDirectory> directory() const = 0;
  /// Returns the name of a shared sparse frame (see StoredPlace::is_shared), which has it from the
  /// start. Without a value, the frame is written under a temporary's name.
  virtual std::optional<std::string> shared_name() const { return std::nullopt; }
  /// To be called if shared_name() turned out to be taken. Chooses another one; returns false if
  /// there is none.
  virtual bool take_another_name() { return false; }
  /// Keeps the complete frame, durably. It gets the owner, user attributes and access list of the
  /// file that `writer` has open (null: those of the new file). Its mode permits only what both
  /// that file and the file that is now in its place permit. `loss` is reported when the frame is
  /// recovered. Returns the path of the frame below SOURCE.
  virtual std::string keep(const StoredFrame& made, const frame::FrameWriter* writer,
                           Loss loss) = 0;
};

enum class SavedCopyKind {
  /// Next to the file, as NAME.conflict-YYYYMMDDThhmmss[-N] (UTC; NAME as the mount shows it). If
  /// the directory is gone: in the root of SOURCE if the user may create files there, else as
  /// `recovery`.
  conflict,
  /// In the root of SOURCE, as a temporary that the journal names
  /// (fs/source/local/files/journal.hpp).
  recovery,
  /// Outside SOURCE (fs/source/local/files/rescue_folder.hpp).
  rescue
};

/// Whether a content has gone on from another program's state.
enum class [[nodiscard]] FollowResult{
    no,             ///< the file is as the content left it
    yes,            ///< the content has gone on
    being_written,  ///< another program is writing the file in place; try again later
};

/// The reaction of a commit to another program that is writing the file. Threads that serve several
/// files do not wait.
enum class IfBeingWritten { wait, fail };

/// Thread-safe.
class Takeover {
 public:
  Takeover() = default;
  virtual ~Takeover() = default;
  Takeover(const Takeover&) = delete;
  Takeover& operator=(const Takeover&) = delete;

  /// True while the name refers to the file that the Source knows as the content's.
  virtual bool is_in_place() = 0;
  /// True if this mount has removed the file, even if the content does not know that yet. Its
  /// uncommitted data need not be saved.
  virtual bool is_removed_here() { return false; }
  /// True if another program is writing, in place, the file that has the name now.
  virtual bool is_being_written(Request& /*request*/) { return false; }
  /// Returns null for a rescue if no rescue folder is available.
  virtual std::unique_ptr<SavedCopy> saved_copy(Request& request, SavedCopyKind kind, ShownAs shown,
                                                uid_t user) = 0;
  /// The state that a content goes on from. Without a successor, and with both flags below false,
  /// the file is gone.
  struct Following {
    std::shared_ptr<const frame::Snapshot> successor;
    /// The successor is the content's own file, changed in place; no other file has replaced it.
    bool is_own_file = false;
    /// The name refers to something that cannot be the successor: no frame, a damaged frame, a file
    /// that the mount has open with changes of its own, or a file that not all users of this
    /// content may open.
    bool must_not_follow = false;
    /// is_being_written() is true. Nothing has changed.
    bool is_being_written = false;
  };
  /// Opens the file that has the name now, and makes it the content's file in the Source. Without a
  /// successor, the content's file has no name any more. Throws ESTALE if SOURCE keeps changing, or
  /// if the content's own file is in its place again.
  ///
  /// `make_ready` is called with each successor that is opened, or with null if there is none,
  /// before the Source changes anything. If it returns false, follow() starts again. If it throws,
  /// nothing has changed.
  using MakeReady = std::function<bool(const std::shared_ptr<const frame::Snapshot>&)>;
  virtual Following follow(Request& request, const MakeReady& make_ready) = 0;
};

}  // namespace bloscfs::fs
