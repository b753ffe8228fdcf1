#pragma once
// The extended attributes of a container:
//
//   user.blosc2.NAME         what its header says, computed
//   user.blosc2.meta.NAME    a metalayer of fixed length
//   user.blosc2.vlmeta.NAME  a metalayer of variable length
//   user.blosc2.json.NAME    a metalayer of variable length, as JSON
//
// Only metalayers that another file may have as well are listed, so that programs that copy files
// carry these and nothing else. The other attributes can be read by their names.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

inline constexpr std::string_view kAttributePrefix = "user.blosc2.";
/// Prefix of the attributes of the mount's root that describe the mount. Files have no attributes
/// with this prefix.
inline constexpr std::string_view kMountPrefix = "user.bloscfs.";
/// The mount's counters.
inline constexpr std::string_view kStatsAttribute = "user.bloscfs.stats";
inline constexpr std::string_view kMetaPrefix = "user.blosc2.meta.";
inline constexpr std::string_view kVlmetaPrefix = "user.blosc2.vlmeta.";
inline constexpr std::string_view kJsonPrefix = "user.blosc2.json.";
/// Metalayers with larger contents are not listed, and their attributes cannot be read.
inline constexpr std::size_t kMaxAttributeSize = 64U << 10;

/// The attributes that were found in a container. Immutable.
struct FrameAttributes {
  struct Layer {
    LayerName name;
    bool is_too_large = false;  ///< more than kMaxAttributeSize
    /// Null if the content must be read again, because it is damaged or too large to keep.
    LayerChange content;
  };
  frame::FrameInfo info;
  std::vector<Layer> layers;

  const Layer* find(const LayerName& name) const;
  std::size_t memory() const;
};

/// Reads all metalayers, and keeps up to 128 KiB of their contents. Throws std::system_error(EIO)
/// if the source changes during the read.
FrameAttributes look_at_attributes(const frame::Snapshot& snapshot, codec::BlockDecoder& decoder);

/// Returns the metalayer that an attribute shows, as bytes or as JSON; nullopt for other names.
std::optional<LayerName> layer_of(std::string_view attribute);
std::string attribute_of(const LayerName& layer);
/// True for metalayers that can be set and are listed.
bool is_free(const LayerName& layer);
/// True for names of computed attributes, even if a container does not have the attribute.
bool is_computed(std::string_view attribute);

/// False if a container certainly has no metalayer to list. Reads nothing.
bool has_listed_metalayers(const frame::Snapshot& snapshot);

/// Returns the full names of the attributes to list. Leaves out metalayers whose names make no
/// attribute name: empty names, and names of more than 255 bytes with the prefix. `found` may be
/// null.
std::vector<std::string> list_attributes(const FrameAttributes* found, const LayerChanges& changes);

/// Returns the value of a computed attribute; nullopt if the container does not have it. Throws
/// std::system_error(E2BIG) for a value over 64 KiB.
std::optional<std::string> computed_value(const frame::FrameInfo& info, std::string_view attribute);

/// Returns the content of a metalayer; nullopt if there is none of that name. Throws
/// std::system_error: E2BIG for contents over 64 KiB, EIO if the source has changed. Throws
/// codec::Error for damage.
std::optional<std::vector<std::uint8_t>> read_layer(const frame::Snapshot& snapshot,
                                                    const LayerName& name,
                                                    codec::BlockDecoder& decoder);

/// Where the values of a container's attributes come from. value_of() calls the functions only when
/// it needs them.
struct AttributeValues {
  LayerChanges changes;  ///< not committed yet
  /// Returns the committed content of a metalayer, as read_layer() does.
  std::function<std::optional<std::vector<std::uint8_t>>(const LayerName&)> layer;
  std::function<frame::FrameInfo()> info;
};
/// Returns the values of a snapshot without uncommitted changes. The snapshot outlives the result.
AttributeValues values_of(const frame::Snapshot& snapshot);
/// Returns the value of an attribute, with uncommitted changes applied; nullopt if the container
/// has no such attribute. Throws the errors of the functions in `values`, and of layer_as_json().
std::optional<std::string> value_of(const AttributeValues& values, const std::string& attribute);

/// Returns the content of a variable-length metalayer as JSON text. Throws
/// std::system_error(E2BIG).
std::string layer_as_json(codec::Bytes content);
/// The inverse of layer_as_json(). Throws EINVAL for text that is no JSON, and for the objects by
/// which layer_as_json() shows binary values and extensions. Throws E2BIG for large contents.
std::vector<std::uint8_t> layer_from_json(const std::string& text);
/// Returns the metalayer content that results from setting the attribute to `value`. The value is
/// JSON or bytes, depending on the attribute's name.
LayerChange content_for(std::string_view attribute, const std::string& value);

/// True for extended attributes in the name spaces that a mount supports. Others fail with
/// EOPNOTSUPP.
bool has_supported_namespace(std::string_view name);

}  // namespace bloscfs::fs
