#pragma once
// What a content does when another program has changed its file.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "frame/container/frame_writer.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/store/byte_store.hpp"
#include "fs/support/request.hpp"
#include "fs/view/shown_as.hpp"

namespace bloscfs::fs {

class Request;
struct StoredFrame;

/// Where a frame is made of contents that cannot be stored in their own place. Part of the request
/// that asked for it, and ends before it.
class SavedCopy {
 public:
  virtual ~SavedCopy() = default;
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

enum class SavedCopyKind {
  /// Beside the file, as NAME.conflict-YYYYMMDDThhmmss[-N] (UTC; NAME as the mount shows it). Where
  /// the directory is gone: in SOURCE itself if the user who has written may make files there, else
  /// for recovery.
  conflict,
  /// In SOURCE, as a temporary that its journal names (fs/source/local/files/journal.hpp).
  recovery,
  /// Outside of SOURCE (fs/source/local/files/rescue_folder.hpp).
  rescue
};

/// Whether a content has gone on from what another program has stored.
enum class [[nodiscard]] FollowResult{
    no,             ///< the file is as the content left it
    yes,            ///< it has gone on
    being_written,  ///< another program is writing the file in place: a later look finds it whole
};

/// What a commit does about a file that is being written: whoever serves others, too, does not
/// wait.
enum class IfBeingWritten { wait, fail };

/// Thread-safe.
class Takeover {
 public:
  Takeover() = default;
  virtual ~Takeover() = default;
  Takeover(const Takeover&) = delete;
  Takeover& operator=(const Takeover&) = delete;

  /// True while the name leads to the file that the Source knows as the content's.
  virtual bool is_in_place() = 0;
  /// This mount has removed the file, though its content may not be told yet: what was written to
  /// it is nobody's.
  virtual bool is_removed_here() { return false; }
  /// True if another program is writing, in place, what has the name now.
  virtual bool is_being_written(Request& /*request*/) { return false; }
  /// Null for a rescue where there is no such place.
  virtual std::unique_ptr<SavedCopy> saved_copy(Request& request, SavedCopyKind kind, ShownAs shown,
                                                uid_t user) = 0;
  /// What a content goes on from. With neither, the file has gone, or is no frame any more.
  struct Following {
    std::shared_ptr<const frame::Snapshot> successor;
    /// The successor is the content's own file, changed in place: no other file has replaced it.
    bool is_own_file = false;
    /// The name leads to something else: to no frame, to a damaged one, to a file that the mount
    /// has open with changes of its own, or to one that not all users of this content may open.
    bool is_no_successor = false;
    /// is_being_written() is true: nothing has changed.
    bool is_being_written = false;
  };
  /// Opens what has the name now, which is the content's file from now on, in the eyes of the
  /// Source. Without a successor the content's file has no name any more. Throws
  /// ESTALE where SOURCE does not come to rest, and where the file is in its place again.
  /// `make_ready` is given each successor that is opened, or null where there is none, before the
  /// Source goes on. Where it gives false the look begins anew; it may throw: then nothing has
  /// changed.
  using MakeReady = std::function<bool(const std::shared_ptr<const frame::Snapshot>&)>;
  virtual Following follow(Request& request, const MakeReady& make_ready) = 0;
};

}  // namespace bloscfs::fs
