#pragma once
// The extended attributes that a container gives: what its header
// says (user.blosc2.NAME, computed), its metalayers (user.blosc2.meta.NAME, .vlmeta.NAME), and
// those of variable length as JSON (user.blosc2.json.NAME).
//
// Listed are metalayers that another file may have as well: programs that copy files then carry
// these and nothing else. The others are there for who knows their names.

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
/// Of what is told of a mount, as attributes of its root: no file has others of such a name.
inline constexpr std::string_view kMountPrefix = "user.bloscfs.";
/// Its counters.
inline constexpr std::string_view kStatsAttribute = "user.bloscfs.stats";
inline constexpr std::string_view kMetaPrefix = "user.blosc2.meta.";
inline constexpr std::string_view kVlmetaPrefix = "user.blosc2.vlmeta.";
inline constexpr std::string_view kJsonPrefix = "user.blosc2.json.";
/// Contents beyond this are not listed and cannot be read.
inline constexpr std::size_t kMaxAttributeSize = 64U << 10;

/// What a look at a container has found. Immutable.
struct FrameAttributes {
  struct Layer {
    LayerName name;
    bool is_too_large = false;  ///< more than kMaxAttributeSize
    /// Null where it has to be read again: it is damaged, or there is too much of them.
    LayerChange content;
  };
  frame::FrameInfo info;
  std::vector<Layer> layers;

  const Layer* find(const LayerName& name) const;
  std::size_t memory() const;
};

/// Reads all metalayers, and keeps contents of up to 128 KiB in all. Throws std::system_error(EIO)
/// if the source changes meanwhile.
FrameAttributes look_at_attributes(const frame::Snapshot& snapshot, codec::BlockDecoder& decoder);

/// The metalayer that an attribute stands for, byte for byte or as JSON; nullopt for other names.
std::optional<LayerName> layer_of(std::string_view attribute);
std::string attribute_of(const LayerName& layer);
/// True for metalayers that can be set and are listed.
bool is_free(const LayerName& layer);
/// True for the names of what is computed, whether it applies to a container or not.
bool is_computed(std::string_view attribute);

/// False if a container certainly has no metalayer to be listed; costs no read.
bool has_listed_metalayers(const frame::Snapshot& snapshot);

/// Full names of the attributes to be listed. Metalayers whose names make no attribute name (empty,
/// or more than 255 bytes in full) are left out. `found` may be null.
std::vector<std::string> list_attributes(const FrameAttributes* found, const LayerChanges& changes);

/// Nullopt where it does not apply. Throws std::system_error(E2BIG).
std::optional<std::string> computed_value(const frame::FrameInfo& info, std::string_view attribute);

/// The content of a metalayer. Nullopt if there is none of that name. Throws std::system_error:
/// E2BIG for contents over 64 KiB, EIO when the source has changed; codec::Error for damage.
std::optional<std::vector<std::uint8_t>> read_layer(const frame::Snapshot& snapshot,
                                                    const LayerName& name,
                                                    codec::BlockDecoder& decoder);

/// Where the values of a container's attributes come from. value_of() calls the functions only when
/// it needs them.
struct AttributeValues {
  LayerChanges changes;  ///< not committed yet
  /// The committed content of a metalayer, as read_layer() gives it.
  std::function<std::optional<std::vector<std::uint8_t>>(const LayerName&)> layer;
  std::function<frame::FrameInfo()> info;
};
/// The values of a snapshot without uncommitted changes. The snapshot outlives the result.
AttributeValues values_of(const frame::Snapshot& snapshot);
/// The value of an attribute, with uncommitted changes applied. Nullopt if the container has no
/// such attribute. Throws what the functions of `values` and layer_as_json() throw.
std::optional<std::string> value_of(const AttributeValues& values, const std::string& attribute);

/// A vlmetalayer's content as an attribute's text. Throws std::system_error(E2BIG).
std::string layer_as_json(codec::Bytes content);
/// The counterpart: EINVAL for what is no JSON, or stands for what JSON does not have.
std::vector<std::uint8_t> layer_from_json(const std::string& text);
/// The metalayer content that setting an attribute to a value gives. The value is JSON or bytes,
/// depending on the attribute's name.
LayerChange content_for(std::string_view attribute, const std::string& value);

/// True for extended attributes of the name spaces that a mount has; others are EOPNOTSUPP.
bool is_in_shown_space(std::string_view name);

}  // namespace bloscfs::fs
