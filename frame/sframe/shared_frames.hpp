#pragma once
// Sparse frames whose files are objects, as wholes: removed, and given other names.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame/store/object_frames.hpp"

namespace bloscfs::frame::inline sframe {

// Errors: those of ObjectTree, ENOENT where there is no frame, Error where its index cannot be
// read; ESTALE where another host has changed it meanwhile: then nothing is lost.

/// A frame in a state that is known, its metadata included. Where the store has another one the
/// answer is ESTALE.
struct KnownFrame {
  std::string path;
  ObjectState state;
  std::shared_ptr<const ObjectSource> index;  ///< in that state; null: it is asked for
};

/// Paths of the chunks that the index of a frame names.
std::vector<std::string> chunks_of_shared_frame(ObjectFrames& frames, const std::string& path);

/// What is nobody's any more, and is to be removed, once each.
struct RemovedFrame {
  std::vector<std::string> tombstone;  ///< at once; empty: there is none
  std::vector<std::string> chunks;     ///< when nobody reads them
};
RemovedFrame remove_shared_frame(ObjectFrames& frames, const KnownFrame& frame);

struct RenamedFrame {
  std::shared_ptr<const ObjectSource> index;  ///< of the new name, as it was stored
  RemovedFrame removed;
  std::vector<std::string> replaced;  ///< chunks of what had the new name
};
/// Copies the chunks in the store, puts an index beside the copies, and removes the old name then:
/// there is always one of the two, and both for a moment. `replaced` has the new name, and gives
/// way. What else has it: ESTALE. EXDEV where `may_be_left` and chunks of the same numbers have
/// been left there: whoever removes these may do so at any time.
RenamedFrame rename_shared_frame(ObjectFrames& frames, const KnownFrame& from,
                                 const std::string& to, const std::optional<KnownFrame>& replaced,
                                 bool may_be_left);

}  // namespace bloscfs::frame::inline sframe
