#pragma once
// Names in stores of python-blosc2: which files are leaves, their forms and their keys
// (frame/formats/stores.md, "Leaves").

#include <string>
#include <string_view>

namespace bloscfs::frame::inline pystore {

inline constexpr std::string_view kEmbedName = "embed.b2e";
/// A ZIP file with another suffix is not a store.
inline constexpr std::string_view kZipStoreSuffix = ".b2z";
/// The usual suffix of a store that is a frame. Such a store may have any name.
inline constexpr std::string_view kEmbedStoreSuffix = ".b2e";
/// The leaf, without a suffix, that holds the attributes of its group.
inline constexpr std::string_view kGroupAttributes = "__vlmeta__";

/// The form that a leaf's suffix announces. A file of the form `other` is a leaf if it opens as a
/// frame.
enum class LeafForm { array, flat, batch, other };

LeafForm leaf_form(std::string_view file_name);

/// Returns a file's name without its last suffix: "x.1.b2nd" gives "x.1", ".x" and "x" stay.
std::string_view leaf_stem(std::string_view file_name);

/// Returns the name of a key in its group: "x" for "/a/b/x".
std::string_view last_part(std::string_view key);

/// Suffixes that announce the form of a leaf, with the point.
inline constexpr std::string_view kLeafSuffixes[] = {".b2nd", ".b2f", ".b2b"};

/// True for file names (one part) that are not leaves of a store: staging files, locks, and in the
/// root also embed.b2e.
bool is_no_leaf(std::string_view file_name, bool in_root);

/// True for such names and for a group's attributes, which no listing of a group shows.
bool is_hidden_in_store(std::string_view file_name, bool in_root);

}  // namespace bloscfs::frame::inline pystore
