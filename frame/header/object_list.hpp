#pragma once
// Lists of Python's objects, which python-blosc2 keeps in frames of variable-length chunks or
// blocks (frame/formats/metalayers.md, "Objects").

#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "codec/bytes.hpp"
#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline header {

/// The most bytes of one document, which holds one object, or a batch of them.
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

/// nullopt for frames that are no such list. Throws Error: unsupported, naming it, for a serializer
/// that is none of these; malformed. std::system_error from the source.
std::optional<ObjectList> object_list_of(const Snapshot& snapshot);

/// The same of the metalayer that says so; nullopt for those of other names.
std::optional<ObjectList> parse_object_list(std::string_view name, codec::Bytes content);

/// The objects of one document, in order, with Marks::base64; tuples are arrays. Throws
/// Error(malformed) for what is no such document, or exceeds the limits of msgpack_json.hpp.
std::vector<nlohmann::json> objects_of(const ObjectList& list, codec::Bytes document);

}  // namespace bloscfs::frame::inline header
