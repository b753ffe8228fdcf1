#pragma once
// Decides how a commit stores a file: in the container that it has, or in another one. Pure.

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "frame/container/frame_writer.hpp"

namespace bloscfs::fs {

/// The container stays, and what has changed is stored into it.
struct EditInPlace {};
/// All is stored into a new flat frame.
struct NewFlat {
  frame::FrameSettings settings;
};
/// All is stored into a new array.
struct NewArray {
  frame::FrameSettings settings;
};
using Representation = std::variant<EditInPlace, NewFlat, NewArray>;

/// What is committed of the file, and what is to be.
struct RepresentationFacts {
  enum class Stored {
    nothing,
    flat,   ///< bytes in chunks
    array,  ///< shown as a NPY file
    items,  ///< an array's, shown without a header
  };
  std::string name;  ///< stored one, for messages
  Stored stored = Stored::nothing;
  bool is_writable = true;        ///< its container is open for writing
  bool changes_contents = false;  ///< bytes or size
  bool changes_size = false;
  bool can_change_in_part = true;  ///< see can_be_changed_in_part()
  bool has_variable_chunks = false;
  bool has_links = false;  ///< other names, which would keep what is stored
  bool is_raw = false;     ///< the mount shows arrays as they are stored
  bool is_held_flat = false;
  /// It has changed since the last look, and nobody writes to it, or all of it is new.
  bool look_is_due = false;

  // What costs something is asked for only where it decides.

  /// Whether an array still stands for the same file but for elements.
  std::function<bool()> keeps_array;
  /// Whether the file's name can be that of an array.
  std::function<bool()> name_can_be_array;
  /// Settings of an array for the file's bytes; nullopt where none can stand for them.
  std::function<std::optional<frame::FrameSettings>()> array_settings;
  std::function<frame::FrameSettings()> flat_settings;
};

/// Throws std::system_error(EOPNOTSUPP) where an array would have to become flat that has links.
Representation choose_representation(const RepresentationFacts& facts);

}  // namespace bloscfs::fs
