#pragma once
// Stores of python-blosc2 as archives (frame/formats/stores.md).

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/pystore/python_store.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/source/judge.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Attribute of a store's root only: what kind of store it is.
inline constexpr const char* kStoreAttribute = "user.blosc2.store";
inline constexpr const char* kGroupKindAttribute = "user.blosc2.kind";

/// One state of a store of python-blosc2.
class StoreArchive final : public Archive {
 public:
  /// `raw`: arrays are shown without an NPY header. `charge` is the one that the store was opened
  /// with. From then on it covers what the store keeps.
  StoreArchive(std::unique_ptr<const frame::PythonStore> store, bool raw,
               std::shared_ptr<MemoryBudget::Listing> charge);

  std::vector<ArchiveEntry> list(Request& request, const std::string& group,
                                 frame::MemoryCharge& charge) const override;
  std::optional<ArchiveEntry> find(Request& request, const std::string& group,
                                   const std::string& full_name) const override;
  std::shared_ptr<const frame::Snapshot> open(const ArchiveEntry& leaf) const override;
  std::string link_text(const ArchiveEntry& link) const override;
  std::shared_ptr<const frame::Snapshot> frame_of(const std::string& group) const override;
  std::optional<std::string> attribute(const std::string& group,
                                       const std::string& name) const override;
  bool is_complete() const override { return store_->is_complete(); }
  std::vector<std::string> messages() const override { return store_->messages(); }

  // The next functions look only at what embed.b2e holds.

  /// As Snapshot::is_unchanged_without_wait().
  bool is_unchanged_without_wait() const { return store_->embed()->is_unchanged_without_wait(); }
  /// False if neither a leaf nor a group can have that full name.
  bool may_have(const std::string& group, const std::string& full_name) const;
  bool is_empty() const { return store_->embed_map().size() == 0; }
  bool has_leaf(const std::string& key) const;
  bool has_group(const std::string& group) const;
  /// True if anything is embedded in that group or below it. `with_attributes`: what holds the
  /// attributes of groups counts, too.
  bool has_below(const std::string& group, bool with_attributes) const;

 private:
  enum class Form : std::uint8_t { unknown, flat, array };

  frame::Leaf leaf_of(const ArchiveEntry& entry) const;
  ArchiveEntry described(Request& request, const std::string& key, const frame::Leaf& leaf) const;
  std::vector<ArchiveEntry> described(Request& request, const std::string& group,
                                      const frame::StoreEntry& entry) const;
  bool is_array(Request& request, const std::string& key, const frame::Leaf& leaf) const;

  const std::shared_ptr<MemoryBudget::Listing> charge_;
  const std::unique_ptr<const frame::PythonStore> store_;
  /// Whether embedded leaves are arrays, which their names do not tell, in the order of the map.
  mutable std::vector<std::atomic<Form>> forms_;
  const bool raw_;
};

/// How to open the file of a store: as bytes, or as a frame (null if it is none).
struct StoreFile {
  std::function<std::shared_ptr<const frame::ByteSource>()> bytes;
  std::function<std::shared_ptr<const frame::Snapshot>()> frame;
};

/// Opens a file in that role (judge.hpp) as a store; null if it is none. `raw` and `charge` as for
/// StoreArchive. Throws codec::Error and std::system_error.
std::unique_ptr<const Archive> open_store_file(const StoreFile& file, Role role, bool raw,
                                               std::shared_ptr<MemoryBudget::Listing> charge);

}  // namespace bloscfs::fs
