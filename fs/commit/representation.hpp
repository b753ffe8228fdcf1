#pragma once
// Decides whether a commit stores a file into its present container or into a new one. A pure
// function.

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "frame/container/frame_writer.hpp"

namespace bloscfs::fs {

/// Keeps the container, and stores the changes into it.
struct EditInPlace {};
/// Stores everything into a new flat frame.
struct NewFlat {
  frame::FrameSettings settings;
};
/// Stores everything into a new array.
struct NewArray {
  frame::FrameSettings settings;
};
using Representation = std::variant<EditInPlace, NewFlat, NewArray>;

/// The committed state of the file, and what the commit changes.
struct RepresentationFacts {
  enum class Stored {
    nothing,
    flat,   ///< bytes in chunks
    array,  ///< shown as an NPY file
    items,  ///< an array's elements, shown without a header
  };
  std::string name;  ///< stored name, for messages
  Stored stored = Stored::nothing;
  bool is_writable = true;        ///< its container is open for writing
  bool changes_contents = false;  ///< bytes or size
  bool changes_size = false;
  bool can_change_in_part = true;  ///< see can_be_changed_in_part()
  bool has_variable_chunks = false;
  bool has_links = false;  ///< has other hard links, which would keep the old container
  bool is_raw = false;     ///< the mount shows an array's elements without a header
  bool is_forced_flat = false;
  /// The file has changed since the last decision. In addition, no handle may write to it, or all
  /// of its contents are new.
  bool must_choose_representation = false;

  // The functions below are expensive, so they are called only if their result matters.

  /// True if the file is still the same array, apart from its elements.
  std::function<bool()> keeps_array;
  /// True if an array may have the file's name.
  std::function<bool()> name_can_be_array;
  /// Returns the settings of an array for the file's bytes; nullopt if no array can represent them.
  std::function<std::optional<frame::FrameSettings>()> array_settings;
  std::function<frame::FrameSettings()> flat_settings;
};

/// Throws std::system_error(EOPNOTSUPP) if an array with other hard links would have to become
/// flat.
Representation choose_representation(const RepresentationFacts& facts);

}  // namespace bloscfs::fs
