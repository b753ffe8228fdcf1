#pragma once
// Removes and renames whole sparse frames whose files are objects in a store.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame/store/object_frames.hpp"

namespace bloscfs::frame::inline sframe {

// Errors of these functions: those of ObjectTree; ENOENT if there is no frame; Error if its index
// cannot be read; ESTALE if another host has changed the frame. After ESTALE nothing is lost.

/// A frame, and the state (with metadata) that the caller knows. If the object store has another
/// state, the functions below throw ESTALE.
struct KnownFrame {
  std::string path;
  ObjectState state;
  std::shared_ptr<const ObjectSource> index;  ///< in that state; null: not known
};

/// Returns the paths of the chunks that a frame's index names.
std::vector<std::string> chunks_of_shared_frame(ObjectFrames& frames, const std::string& path);

/// Paths of the objects that the caller must delete, each with one request.
struct RemovedFrame {
  std::vector<std::string> tombstone;  ///< delete at once; may be empty
  std::vector<std::string> chunks;     ///< delete when no reader needs them
};
RemovedFrame remove_shared_frame(ObjectFrames& frames, const KnownFrame& frame);

struct RenamedFrame {
  std::shared_ptr<const ObjectSource> index;  ///< the stored index of the new name
  RemovedFrame removed;
  std::vector<std::string> replaced;  ///< chunks of the replaced frame
};
/// Renames a frame: copies its chunks on the server, puts the index at the new name, and removes
/// the old name. Both names exist for a moment. `replaced` is the frame that has the new name now;
/// any other frame there causes ESTALE. Throws EXDEV if `may_be_left` and old chunks with the same
/// numbers exist at the new name, because another host may delete them at any time.
RenamedFrame rename_shared_frame(ObjectFrames& frames, const KnownFrame& from,
                                 const std::string& to, const std::optional<KnownFrame>& replaced,
                                 bool may_be_left);

}  // namespace bloscfs::frame::inline sframe
