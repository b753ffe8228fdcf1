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

/// Returns the name of the marker: "b2dict", "b2tree", "b2embed".
const char* store_kind_name(StoreKind kind);

/// Returns the kind of store that a frame's fixed metalayers announce, by a marker of version 1;
/// nullopt without a marker. Throws std::system_error from the source, and Error(unsupported) for
/// the cache of a remote store, which may lack leaves.
std::optional<StoreKind> store_kind(const Snapshot& embed);

/// True if the frame is an EmbedStore. Throws as store_kind() does. For a frame without the
/// metalayer of an EmbedStore, never throws and reads nothing.
bool is_embed_store(const Snapshot& frame);

/// A leaf with a file, or a member of the ZIP file, of its own.
struct ExternalLeaf {
  std::string path;  ///< from the store's root, "a/b/x.b2nd"
  LeafForm form = LeafForm::other;
  bool operator==(const ExternalLeaf&) const = default;
};

using Leaf = std::variant<ExternalLeaf, EmbeddedLeaf, ReferencedLeaf>;

/// One name in a group: a leaf, a group, or both.
struct StoreEntry {
  std::string name;  ///< the last part of the key
  bool is_group = false;
  std::optional<Leaf> leaf;
};

/// One state of a store, read on demand: a leaf is opened when it is needed. Thread-safe.
class PythonStore {
 public:
  /// `files` is null for an EmbedStore. Ignores an unreadable map: see has_map(). Charges memory of
  /// the map to `charge`, whose exceptions pass through.
  PythonStore(StoreKind kind, std::unique_ptr<const StoreFiles> files,
              std::shared_ptr<const Snapshot> embed, const ChargePointer& charge);

  StoreKind kind() const { return kind_; }
  const EmbedMap& embed_map() const { return map_; }
  /// Returns the frame `embed.b2e`, or the EmbedStore.
  const std::shared_ptr<const Snapshot>& embed() const { return embed_; }
  /// Returns messages for the log: what was left out of the map and of the central directory, and
  /// why the map could not be read.
  std::vector<std::string> messages() const;
  /// As StoreFiles::wrong_members().
  std::vector<std::string> wrong_members() const {
    return files_ ? files_->wrong_members() : std::vector<std::string>();
  }
  /// Returns the bytes of memory that the store holds, without embed.b2e.
  std::size_t memory() const { return map_.memory() + (files_ ? files_->memory() : 0); }
  /// False if the map could not be read. Embedded leaves are then unknown.
  bool has_map() const { return !map_error_; }
  /// False if damage has hidden leaves. A leaf that is not found may then exist.
  bool is_complete() const { return has_map() && (!files_ || files_->is_complete()); }

  /// Returns the entries of a group, "/" or "/a/b", sorted by the bytes of their names. External
  /// leaves win over embedded ones. Leaves out hidden names. Charges the entries to `charge`, whose
  /// exceptions pass through; the caller must give that memory back. Throws ENOENT.
  std::vector<StoreEntry> list(const std::string& group, MemoryCharge& charge = *uncharged()) const;
  /// Returns what a key names, even if it is hidden; nullopt if it names nothing.
  std::optional<StoreEntry> find(const std::string& key) const;
  /// Calls `visit` for each leaf below a group, in the order of list(). A leaf comes before the
  /// group of the same name.
  void for_each_leaf(
      const std::string& group,
      const std::function<void(const std::string& key, const Leaf& leaf)>& visit) const;

  /// Returns the bytes of a leaf's frame. Throws Error: unsupported for a reference, and for a
  /// deflated member.
  std::shared_ptr<const ByteSource> source(const Leaf& leaf) const;
  /// Opens a leaf's frame. Returns null if an external leaf of another suffix is not a frame.
  std::unique_ptr<Snapshot> open(const Leaf& leaf, const OpenSettings& settings = {}) const;
  /// Opens the frame whose vlmetalayers are a group's attributes; null if the group has none.
  std::unique_ptr<Snapshot> attributes(const std::string& group) const;
  /// Returns what kind of object a group is, from its leaf `_meta`: "ctable". nullopt for other
  /// groups, and if that leaf cannot be read.
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

// The functions below charge memory of an open store, and for reading its embed.b2e, to `charge`.

/// Opens a file whose name ends in .b2z. Returns null unless it is a ZIP file that has an
/// uncompressed embed.b2e with a marker. Throws Error if that cannot be read, std::system_error.
std::unique_ptr<PythonStore> open_zip_store(std::shared_ptr<const ByteSource> source,
                                            const OpenSettings& settings,
                                            const ChargePointer& charge = uncharged());

/// Returns the kind of store that open_zip_store() opens; nullopt if it returns null. Keeps no
/// member but embed.b2e in memory.
std::optional<StoreKind> zip_store_kind(std::shared_ptr<const ByteSource> source,
                                        const OpenSettings& settings);

/// Opens a frame as a store; null unless is_embed_store().
std::unique_ptr<PythonStore> open_embed_store(std::shared_ptr<const Snapshot> frame,
                                              const ChargePointer& charge = uncharged());

/// Opens the embed.b2e of a directory as a store that has only the embedded leaves; null unless it
/// has a marker.
std::unique_ptr<PythonStore> open_embedded_part(std::shared_ptr<const Snapshot> embed,
                                                const ChargePointer& charge = uncharged());

/// Opens a directory; null unless it has an embed.b2e with a marker.
std::unique_ptr<PythonStore> open_directory_store(UniqueFd directory, const OpenSettings& settings,
                                                  const ChargePointer& charge = uncharged());

/// Opens a store from `files`. `embed` is its embed.b2e.
std::unique_ptr<PythonStore> open_directory_store(std::unique_ptr<const StoreFiles> files,
                                                  std::shared_ptr<const ByteSource> embed,
                                                  const OpenSettings& settings,
                                                  const ChargePointer& charge = uncharged());

/// Opens the store at a path, of any kind: a directory, a ZIP file called *.b2z, or a frame of any
/// name. Returns null if it is not a store.
std::unique_ptr<PythonStore> open_store(const std::string& path, const OpenSettings& settings);

}  // namespace bloscfs::frame::inline pystore
