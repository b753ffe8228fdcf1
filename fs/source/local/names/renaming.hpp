#pragma once
// One rename in the mount, of whatever kinds of objects: which full names that asks for, and the
// steps in SOURCE that lead there.

#include <optional>
#include <string>
#include <vector>

#include "fs/source/local/names/name_services.hpp"
#include "fs/source/local/names/removal.hpp"
#include "fs/source/local/tree/tree_changes.hpp"
#include "fs/support/caller.hpp"

namespace bloscfs::fs {

/// True for an array that is to be called what no NPY file is called: it must be a flat frame
/// before. Throws EROFS or EOPNOTSUPP where it cannot become one.
bool becomes_flat_as(const NamedObject& object, const std::string& name);

/// What has the shown name; ENOENT if nothing has.
NamedObject find_to_change(TreeChanges& names, NodeId directory, const std::string& name);

struct WantedRename {
  NodeId from = 0;
  std::string from_name;  ///< shown names
  NodeId to = 0;
  std::string to_name;
  unsigned flags = 0;  ///< RENAME_NOREPLACE or RENAME_EXCHANGE
};

/// The full names that an exchange is to end with, which the first call chooses: at another one the
/// files may have names of their way there.
struct ExchangeNames {
  Identity source, target;  ///< whom they are for
  std::string source_gets, target_gets;
};

/// For one request, while nobody else changes names. `exchange_names` are one for all its calls.
class Renaming {
 public:
  Renaming(TreeChanges& names, NameServices& services, const WantedRename& wanted,
           std::optional<ExchangeNames>& exchange_names);

  /// What the renamed object is still to be called in SOURCE
  /// (fs/source/local/names/replacement.hpp, step 5).
  struct OwnName {
    std::string full_name;
    Identity object;
  };
  struct Outcome {
    std::optional<OwnName> own_name;  ///< none where it is called so already
    std::vector<NodeId> renamed;      ///< containers that have other names
    std::vector<NodeId> ended;        ///< and those that have none any more
  };
  /// Once. What it lacks: else it is done, and has an outcome. Errors are std::system_error with
  /// the errno.
  Need run(Outcome& outcome);

 private:
  Need rename();
  Need move();
  Need exchange();
  Need move_pending();
  Need move_stored();
  ExchangeNames choose_exchange_names();
  bool are_still_good(const ExchangeNames& chosen);
  void check_types();
  std::string target_name(const NamedObject& object, NodeId directory, const std::string& name,
                          const NamedObject* replaced);
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
