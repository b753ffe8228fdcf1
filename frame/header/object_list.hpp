#pragma once
// Lists of Python objects, which python-blosc2 stores in frames of variable-length chunks or blocks
// (frame/formats/metalayers.md, "Objects").

#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "codec/bytes.hpp"
#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline header {

/// Most bytes of one document, which holds one object or a batch of objects.
inline constexpr std::int64_t kMaxDocument = std::int64_t{16} << 20;

/// How the objects of a frame are stored.
struct ObjectList {
  enum class Layout {
    object_in_chunk,  ///< each chunk is the document of one object
    batch_in_block,   ///< each block is the document of an array of objects
  };
  enum class Serializer { msgpack, json, arrow };

  Layout layout = Layout::object_in_chunk;
  Serializer serializer = Serializer::msgpack;
};

/// Returns how the frame stores a list of objects; nullopt if it stores none. Throws Error:
/// unsupported, naming the serializer, if it is not supported; malformed for a bad metalayer.
/// Throws std::system_error from the source.
std::optional<ObjectList> object_list_of(const Snapshot& snapshot);

/// Parses the metalayer of a list. Returns nullopt if `name` is another metalayer.
std::optional<ObjectList> parse_object_list(std::string_view name, codec::Bytes content);

/// Returns the objects of one document, in order, with Marks::base64. Tuples become arrays. Throws
/// Error(malformed) for a bad document, or one that exceeds the limits of msgpack_json.hpp.
std::vector<nlohmann::json> objects_of(const ObjectList& list, codec::Bytes document);

}  // namespace bloscfs::frame::inline header
