#pragma once
// One state of a store of python-blosc2, with the names that the mount shows for its keys.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

#include "frame/pystore/python_store.hpp"
#include "fs/view/memory_budget.hpp"
#include "fs/view/naming.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors: std::system_error, codec::Error.
class MountedStore {
 public:
  /// `raw`: arrays are shown without a NPY header. `charge` is what the store was opened with: it
  /// is left with what the store keeps. `keeper` is destroyed with it.
  /// `embed`: of a store that is a directory the status of its embed.b2e, which `store` is then,
  /// with the directory's inode number.
  MountedStore(std::shared_ptr<const frame::PythonStore> store, bool raw,
               std::shared_ptr<MemoryBudget::Listing> charge, std::shared_ptr<void> keeper,
               std::shared_ptr<const struct stat> embed = nullptr);

  const frame::PythonStore& store() const { return *store_; }
  const std::shared_ptr<const struct stat>& embed() const { return embed_; }

  /// What a group holds under one name. A key that is both a leaf and a group is two of them.
  struct Child {
    std::string key;
    std::string full_name;  ///< the name that it falls back to where two want the same
    ShownAs shown = ShownAs::itself;
    std::optional<frame::Leaf> leaf;  ///< none: a group

    mode_t type() const;
  };
  struct Shown {
    std::string name;
    Child child;
  };
  /// Visits all of a group, "/" or "/a/b", in the order of full names. Opens leaves whose names do
  /// not say whether they are arrays: embedded ones, and members with other suffixes. Takes of
  /// `charge` what a listing of them needs, that of the caller included.
  void for_each(const std::string& group, frame::MemoryCharge& charge,
                const std::function<void(Shown shown)>& visit) const;
  /// The same without names that are shown.
  std::vector<Child> children(const std::string& group, frame::MemoryCharge& charge) const;
  /// What has that full name; nothing if there is none.
  std::optional<Child> find_full(const std::string& group, const std::string& full_name) const;
  /// What is shown as `name`; nothing if there is none, or EIO where it may be in a damaged part.
  std::optional<Child> find(const std::string& group, const std::string& name) const;

  /// EIO where damage has left leaves unknown, of which `name` may be one.
  void require_complete(const std::string& name) const;

  /// A leaf's frame. Throws codec::Error(unsupported) for a deflated member.
  std::shared_ptr<const frame::Snapshot> open(const frame::Leaf& leaf) const;

 private:
  std::vector<Child> children(const std::string& group, const frame::StoreEntry& entry) const;
  /// Nothing for a member that is no frame.
  std::optional<Child> leaf_of(const std::string& key, const frame::Leaf& leaf) const;
  bool is_array(const frame::Leaf& leaf) const;
  bool is_embedded_array(const std::string& key, const frame::Leaf& leaf) const;

  const std::shared_ptr<void> keeper_;
  const std::shared_ptr<const struct stat> embed_;
  const std::shared_ptr<MemoryBudget::Listing> charge_;
  const std::shared_ptr<const frame::PythonStore> store_;
  enum class Form : std::uint8_t { unknown, flat, array };
  /// Of embedded leaves, whose names do not say it, in the order of the map.
  mutable std::vector<std::atomic<Form>> forms_;
  const bool raw_;
};

}  // namespace bloscfs::fs
