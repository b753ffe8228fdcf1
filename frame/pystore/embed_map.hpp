#pragma once
// The map in `embed.b2e` of the leaves in its contents (frame/formats/stores.md, "Embedded
// leaves").

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frame/container/transaction.hpp"
#include "frame/pystore/left_out.hpp"
#include "frame/store/memory_charge.hpp"

namespace bloscfs::frame::inline pystore {

/// The vlmetalayer that holds the map.
inline constexpr const char* kEmbedMapName = "estore_metadata";

/// A range of the contents of embed.b2e that is a complete contiguous frame.
struct EmbeddedLeaf {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool operator==(const EmbeddedLeaf&) const = default;
};

/// An array on a server. The store holds none of its contents.
struct ReferencedLeaf {
  std::string urlbase, path;
  /// Returns both parts with one slash between them.
  std::string url() const;
  bool operator==(const ReferencedLeaf&) const = default;
};

struct EmbedClaim;

/// Longer keys, and longer names of members, are refused.
inline constexpr std::size_t kMaxKey = 1024;

/// True for keys such as "/a/b" of at most kMaxKey bytes. Each part has 1 to 255 bytes without NUL,
/// and is neither "." nor "..".
bool is_path_key(std::string_view key);

/// True for path keys that python-blosc2 accepts: they also have none of `: \n \r \t`.
bool is_valid_key(std::string_view key);

/// Immutable. Takes 24 bytes for each entry, plus the entries' texts.
class EmbedMap {
 public:
  using Leaf = std::variant<EmbeddedLeaf, ReferencedLeaf>;

  /// Makes an empty map.
  EmbedMap() = default;
  /// Parses `bytes`, the metalayer's content. `heap_size` is the size of the frame's contents.
  /// Leaves out invalid entries. Charges memory() bytes to `charge`, whose exceptions pass through.
  /// Throws Error(malformed) if `bytes` are not a map.
  EmbedMap(Bytes bytes, std::uint64_t heap_size, MemoryCharge& charge = *uncharged());
  /// Reads the map of embed.b2e; empty without such a vlmetalayer. Throws Error: too_large above 16
  /// MiB.
  static EmbedMap read(const Snapshot& embed, codec::BlockDecoder& decoder,
                       MemoryCharge& charge = *uncharged());

  /// Returns the number of entries. They are sorted by the bytes of their keys, each key once.
  std::size_t size() const { return entries_.size(); }
  std::string_view key(std::size_t at) const {
    return std::string_view(texts_).substr(entries_[at].text_at, entries_[at].key_size);
  }
  Leaf leaf(std::size_t at) const;
  /// Returns the position of a key; nullopt if the map does not have it.
  std::optional<std::size_t> find(std::string_view key) const;
  /// Returns the position of the first entry whose key is not less than `key`.
  std::size_t lower_bound(std::string_view key) const;
  const LeftOut& left_out() const { return left_out_; }
  /// Returns the bytes that the entries take.
  std::size_t memory() const { return entries_.capacity() * sizeof(Entry) + texts_.size(); }

 private:
  struct Entry {
    std::uint32_t text_at;  ///< position of the key in texts_; urlbase and path follow
    std::uint16_t key_size;
    bool is_reference;
    std::uint64_t first, second;  ///< offset and length, or sizes of urlbase and path
  };
  static_assert(sizeof(Entry) == 24);

  void add(std::string_view key, const EmbedClaim& claim);
  void sort_entries();

  std::vector<Entry> entries_;
  std::string texts_;
  LeftOut left_out_;
};

/// True unless the map of `embed` is empty, or holds only attributes of groups. True also if the
/// map has more than 64 KiB, or cannot be read. Throws std::system_error.
bool may_have_embedded(const Snapshot& embed);

}  // namespace bloscfs::frame::inline pystore
