#pragma once
// One rename in the mount, of any kinds of objects. Chooses the full names for it, and takes the
// steps in SOURCE that lead to them.

#include <optional>
#include <string>
#include <vector>

#include "fs/source/local/names/name_services.hpp"
#include "fs/source/local/names/removal.hpp"
#include "fs/source/local/tree/tree_changes.hpp"
#include "fs/support/caller.hpp"

namespace bloscfs::fs {

/// True for an array that is to get a shown name without ".npy". It must become a flat frame first.
/// Throws EROFS or EOPNOTSUPP if that is impossible.
bool becomes_flat_as(const NamedObject& object, const std::string& name);

/// Returns the object with the shown name `name`. Throws ENOENT if nothing is shown under it.
NamedObject find_to_change(TreeChanges& names, NodeId directory, const std::string& name);

struct WantedRename {
  NodeId from = 0;
  std::string from_name;  ///< shown names
  NodeId to = 0;
  std::string to_name;
  unsigned flags = 0;  ///< RENAME_NOREPLACE or RENAME_EXCHANGE
};

/// The full names that the two objects of an exchange are to get. The first Renaming of an exchange
/// chooses them. A later one, after a Need, may find the objects under interim names.
struct ExchangeNames {
  Identity source, target;  ///< the objects that they were chosen for
  std::string source_gets, target_gets;
};

/// One call of a rename operation (fs/source/local/tree/names_work.hpp), with the lock on names
/// held exclusively. All calls of one operation share `exchange_names`.
class Renaming {
 public:
  Renaming(TreeChanges& names, NameServices& services, const WantedRename& wanted,
           std::optional<ExchangeNames>& exchange_names);

  /// The name that the renamed object still has to get in SOURCE
  /// (fs/source/local/names/replacement.hpp, step 5).
  struct FinalName {
    std::string full_name;
    Identity object;
  };
  struct Outcome {
    std::optional<FinalName> own_name;  ///< nullopt if the object has its own name already
    std::vector<NodeId> renamed;        ///< containers whose names have changed
    std::vector<NodeId> ended;          ///< containers that have lost their last name
  };
  /// To be called once. Returns the Need that the rename has. If it is empty, the rename is done,
  /// and `outcome` is set. Errors are std::system_error with the errno.
  Need run(Outcome& outcome);

 private:
  Need rename();
  Need move();
  Need exchange();
  Need move_pending();
  Need move_stored();
  ExchangeNames choose_exchange_names();
  bool are_still_valid(const ExchangeNames& chosen);
  void check_types();
  std::string target_name(const NamedObject& object, NodeId directory, const std::string& name,
                          const NamedObject* replaced);
  Need before_exchanging(const NamedObject& object, const SourceDirectory& directory,
                         const std::string& stored_name, const std::string& full_name);
  void finish_exchange(const NamedObject& object, const SourceDirectory& directory,
                       NodeId directory_node, const std::string& stored_name,
                       const std::string& full_name);
  void note_renamed(const NamedObject& object);

  TreeChanges& names_;
  NameServices& services_;
  const WantedRename& wanted_;
  std::optional<ExchangeNames>& exchange_names_;
  Removal removal_;
  NamedObject source_;
  std::optional<NamedObject> target_;
  SourceDirectory from_, to_;
  TreeChanges::AfterChange after_change_;
  Outcome outcome_;
};

}  // namespace bloscfs::fs
