#pragma once
// Stores of python-blosc2 (frame/formats/stores.md): trees of leaves in a ZIP file (.b2z), in a
// directory (.b2d), or in one frame (an EmbedStore: usually .b2e).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frame/container/open_settings.hpp"
#include "frame/pystore/contents_source.hpp"
#include "frame/pystore/embed_map.hpp"
#include "frame/pystore/store_files.hpp"
#include "frame/pystore/store_names.hpp"

namespace bloscfs::frame::inline pystore {

enum class StoreKind { dict, tree, embed };

/// As the marker is called: "b2dict", "b2tree", "b2embed".
const char* store_kind_name(StoreKind kind);

/// The kind that a frame's fixed metalayers announce: a marker of version 1. Nothing if there is
/// none. Throws std::system_error from the source, and Error(unsupported) for the cache of a remote
/// store, which has not all of its leaves.
std::optional<StoreKind> store_kind(const Snapshot& embed);

/// True if the frame is an EmbedStore. Throws as store_kind(), but never for a frame without the
/// metalayer of an EmbedStore, of which it reads nothing.
bool is_embed_store(const Snapshot& frame);

/// A leaf with a file, or with a member, of its own.
struct ExternalLeaf {
  std::string path;  ///< from the store's root, "a/b/x.b2nd"
  LeafForm form = LeafForm::other;
  bool operator==(const ExternalLeaf&) const = default;
};

using Leaf = std::variant<ExternalLeaf, EmbeddedLeaf, ReferencedLeaf>;

/// What a group has under one name: a leaf, a group, or both.
struct StoreEntry {
  std::string name;  ///< the last part of the key
  bool is_group = false;
  std::optional<Leaf> leaf;
};

/// One state of a store, read lazily: leaves are opened when they are asked for. Thread-safe.
class PythonStore {
 public:
  /// `files` is null for an EmbedStore. A map that cannot be read is left out. Memory of the map is
  /// charged to `charge`, whose exceptions pass through.
  PythonStore(StoreKind kind, std::unique_ptr<const StoreFiles> files,
              std::shared_ptr<const Snapshot> embed, const ChargePointer& charge);

  StoreKind kind() const { return kind_; }
  const EmbedMap& embed_map() const { return map_; }
  /// The frame `embed.b2e`, or the EmbedStore.
  const std::shared_ptr<const Snapshot>& embed() const { return embed_; }
  /// What was left out of the map and of the central directory, and why the map could not be read
  /// if it could not, for the log.
  std::vector<std::string> messages() const;
  /// Bytes that it keeps, embed.b2e aside.
  std::size_t memory() const { return map_.memory() + (files_ ? files_->memory() : 0); }
  /// False if the map could not be read: embedded leaves are not known then.
  bool has_map() const { return !map_error_; }
  /// False where damage has left leaves unknown: what is not found may have been there.
  bool is_complete() const { return has_map() && (!files_ || files_->is_complete()); }

  /// What is in a group, "/" or "/a/b", by name in the order of bytes; external leaves win over
  /// embedded ones. Without the names that are hidden. Charges the entries to `charge`, whose
  /// exceptions pass through; the caller gives that back. Throws ENOENT.
  std::vector<StoreEntry> list(const std::string& group, MemoryCharge& charge = *uncharged()) const;
  /// What a key stands for, hidden ones too; nothing if there is no such thing.
  std::optional<StoreEntry> find(const std::string& key) const;
  /// Calls `visit` for each leaf below a group, in the order of list(), a group's own first.
  void for_each_leaf(
      const std::string& group,
      const std::function<void(const std::string& key, const Leaf& leaf)>& visit) const;

  /// The bytes of a leaf's frame. Throws Error: unsupported for a reference, and for a deflated
  /// member.
  std::shared_ptr<const ByteSource> source(const Leaf& leaf) const;
  /// A leaf's frame; null where an external leaf of another suffix is none.
  std::unique_ptr<Snapshot> open(const Leaf& leaf, const OpenSettings& settings = {}) const;
  /// The frame whose vlmetalayers are a group's attributes; null if it has none.
  std::unique_ptr<Snapshot> attributes(const std::string& group) const;
  /// What kind of object a group is, as its leaf `_meta` says: "ctable". Nothing for others, and
  /// where that leaf cannot be read.
  std::optional<std::string> group_kind(const std::string& group) const;

 private:
  class Entries;

  void add_files(const std::string& group, Entries& entries) const;
  void add_embedded(const std::string& group, Entries& entries) const;
  std::optional<Leaf> find_leaf(const std::string& key) const;
  bool is_group(const std::string& key) const;

  StoreKind kind_;
  std::unique_ptr<const StoreFiles> files_;
  std::shared_ptr<const Snapshot> embed_;
  ContentsReader read_embed_;
  EmbedMap map_;
  std::optional<std::string> map_error_;
};

// Memory of an open store, and for reading from its embed.b2e, is charged to `charge`.

/// Opens a file whose name ends in .b2z; null unless it is a ZIP file that has a stored embed.b2e
/// with a marker. Throws Error where that cannot be read, std::system_error.
std::unique_ptr<PythonStore> open_zip_store(std::shared_ptr<const ByteSource> source,
                                            const OpenSettings& settings,
                                            const ChargePointer& charge = uncharged());

/// The kind of such a file, without keeping what else it holds.
std::optional<StoreKind> zip_store_kind(std::shared_ptr<const ByteSource> source,
                                        const OpenSettings& settings);

/// Takes a frame for a store; null unless is_embed_store().
std::unique_ptr<PythonStore> open_embed_store(std::shared_ptr<const Snapshot> frame,
                                              const ChargePointer& charge = uncharged());

/// Takes the embed.b2e of a directory for a store of what is embedded in it alone; null unless it
/// has a marker.
std::unique_ptr<PythonStore> open_embedded_part(std::shared_ptr<const Snapshot> embed,
                                                const ChargePointer& charge = uncharged());

/// Opens a directory; null unless it has an embed.b2e with a marker.
std::unique_ptr<PythonStore> open_directory_store(UniqueFd directory, const OpenSettings& settings,
                                                  const ChargePointer& charge = uncharged());

/// The same of other files, of which `embed` is embed.b2e.
std::unique_ptr<PythonStore> open_directory_store(std::unique_ptr<const StoreFiles> files,
                                                  std::shared_ptr<const ByteSource> embed,
                                                  const OpenSettings& settings,
                                                  const ChargePointer& charge = uncharged());

/// The store at a path, whichever kind it is: a directory, a ZIP file called *.b2z, or a frame of
/// any name. Null if there is none.
std::unique_ptr<PythonStore> open_store(const std::string& path, const OpenSettings& settings);

}  // namespace bloscfs::frame::inline pystore
