#pragma once
// What entries of SOURCE are.

#include <cstdint>

namespace bloscfs::fs {

enum class EntryKind : std::uint8_t {
  itself,           ///< shown as it is
  frame,            ///< a file that is a container
  sparse_frame,     ///< a directory that is one
  store,            ///< a file of python-blosc2 that is shown as a directory
  store_directory,  ///< a directory of python-blosc2; shown as the directory that it is
};

/// Base of the types that describe an entry.
struct OfKind {
  EntryKind kind = EntryKind::itself;

  bool is_container() const { return kind == EntryKind::frame || is_sframe(); }
  bool is_sframe() const { return kind == EntryKind::sparse_frame; }
  bool is_store() const { return kind == EntryKind::store; }
  bool is_store_directory() const { return kind == EntryKind::store_directory; }
};

}  // namespace bloscfs::fs
