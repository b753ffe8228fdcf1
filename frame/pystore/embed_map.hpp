#pragma once
// What `embed.b2e` says of the leaves in its contents (frame/formats/stores.md, "Embedded leaves").

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frame/container/transaction.hpp"
#include "frame/pystore/left_out.hpp"

namespace bloscfs::frame {

/// The vlmetalayer that holds the map.
inline constexpr const char* kEmbedMapName = "estore_metadata";

/// Contents of embed.b2e that are a complete contiguous frame.
struct EmbeddedLeaf {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool operator==(const EmbeddedLeaf&) const = default;
};

/// An array on a server, of which nothing is stored here.
struct ReferencedLeaf {
  std::string urlbase, path;
  /// Both, with one slash between them.
  std::string url() const;
  bool operator==(const ReferencedLeaf&) const = default;
};

/// True for "/a/b": parts that are not empty, of at most 255 bytes without NUL, and not "." or
/// "..".
bool is_path_key(std::string_view key);

/// The same for what python-blosc2 takes as a key: none of `: \n \r \t`, too.
bool is_valid_key(std::string_view key);

/// Immutable.
class EmbedMap {
 public:
  struct Entry {
    std::string key;
    std::variant<EmbeddedLeaf, ReferencedLeaf> leaf;
  };

  /// An empty one.
  EmbedMap() = default;
  /// `bytes` are the metalayer's content, `heap_size` is the size of the frame's contents. Throws
  /// Error(malformed) for what is no map; single entries that are not valid are left out.
  EmbedMap(Bytes bytes, std::uint64_t heap_size);
  /// That of embed.b2e; empty without such a vlmetalayer. Throws Error: too_large from 16 MiB on.
  static EmbedMap read(const Snapshot& embed, codec::BlockDecoder& decoder);

  /// By key in the order of bytes, each key once.
  const std::vector<Entry>& entries() const { return entries_; }
  /// Null if there is none.
  const Entry* find(std::string_view key) const;
  /// Position of the first entry whose key is not less.
  std::size_t lower_bound(std::string_view key) const;
  const LeftOut& left_out() const { return left_out_; }
  /// Bytes that the entries take.
  std::size_t memory() const;

 private:
  std::vector<Entry> entries_;
  LeftOut left_out_;
};

/// True unless the map of `embed` is empty, or holds groups' attributes alone; also where it cannot
/// be read. Throws std::system_error.
bool may_have_embedded(const Snapshot& embed);

}  // namespace bloscfs::frame
