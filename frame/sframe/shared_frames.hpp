#pragma once
// Sparse frames whose files are objects, as wholes: removed, and given other names.

#include <memory>
#include <string>
#include <vector>

#include "frame/store/object_frames.hpp"

namespace bloscfs::frame::inline sframe {

// Errors: those of ObjectTree, ENOENT where there is no frame, Error where its index cannot be
// read; ESTALE where another host has changed it meanwhile: then nothing is lost.

/// Paths of the chunks that the index of a frame names.
std::vector<std::string> chunks_of_shared_frame(ObjectFrames& frames, const std::string& path);

/// Of the state `base`: ESTALE where the store has another one. Leaves an empty index; returns what
/// is to be removed when nobody reads it any more.
std::vector<std::string> remove_shared_frame(ObjectFrames& frames, const std::string& path,
                                             const ObjectState& base);

struct RenamedFrame {
  ObjectState state;
  std::vector<std::string> left;  ///< to be removed when nobody reads it any more
};
/// Copies the state `base` of `from` in the store, and removes it then: there is always one of the
/// two, and both for a moment. ESTALE where the store has another state. `replaces`: a frame of the
/// new name gives way; else EEXIST. EXDEV where `to` has chunks left of the same numbers.
RenamedFrame rename_shared_frame(ObjectFrames& frames, const std::string& from,
                                 const ObjectState& base, const std::string& to, bool replaces);

}  // namespace bloscfs::frame::inline sframe
