#pragma once
// Names in stores of python-blosc2: which are leaves, of which form, and which key they have
// (frame/formats/stores.md, "Leaves").

#include <string>
#include <string_view>

namespace bloscfs::frame::inline pystore {

inline constexpr std::string_view kEmbedName = "embed.b2e";
/// A ZIP file of another name is no store.
inline constexpr std::string_view kZipStoreSuffix = ".b2z";
/// Usual for a store that is a frame, which may have any name.
inline constexpr std::string_view kEmbedStoreSuffix = ".b2e";
/// The leaf that holds the attributes of the group that it is in, without a suffix.
inline constexpr std::string_view kGroupAttributes = "__vlmeta__";

/// What a leaf's suffix says that it is; `other`: it is a leaf if it opens as a frame.
enum class LeafForm { array, flat, batch, other };

LeafForm leaf_form(std::string_view file_name);

/// A file's name without its last suffix: "x.1.b2nd" gives "x.1", ".x" and "x" stay.
std::string_view leaf_stem(std::string_view file_name);

/// "x" of "/a/b/x": its name in the group that it is in.
std::string_view last_part(std::string_view key);

/// Suffixes of names that say what form a leaf has, with the point.
inline constexpr std::string_view kLeafSuffixes[] = {".b2nd", ".b2f", ".b2b"};

/// True for file names (one part) that are no leaves of a store: staging files, locks, and in the
/// root also embed.b2e.
bool is_no_leaf(std::string_view file_name, bool in_root);

/// The same, or a group's attributes: what no group of a store shows.
bool is_hidden_in_store(std::string_view file_name, bool in_root);

}  // namespace bloscfs::frame::inline pystore
