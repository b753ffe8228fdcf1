#include "fs/source/local/names/name_choice.hpp"

#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/target_name.hpp"
#include "fs/source/naming.hpp"

namespace bloscfs::fs {
std::string choose_name(TreeLooks& names, NodeId directory, const std::string& shown_name,
                        ShownAs shown, const std::string& previous, const NamingPolicy& policy,
                        const TreeLooks::AfterChange& after_change) {
  std::string_view suffix = shown == ShownAs::array ? kArraySuffix : policy.suffix;
  // python-blosc2 uses this suffix for the flat leaves of its stores.
  if (shown == ShownAs::flat && names.is_in_store(directory)) suffix = kFlatLeafSuffix;
  for (std::string& name : container_names(shown_name, shown, previous, suffix))
    if (names.fits(directory, shown_name, name, shown, after_change)) return std::move(name);
  return {};
}

std::string name_frame(TreeChanges& names, const NamingPolicy& policy, const SourceDirectory& from,
                       const std::string& stored_name, NodeId directory,
                       const std::string& shown_name, FirstName first) {
  const std::time_t now = std::time(nullptr);
  const SourceDirectory in = names.directory(directory);
  for (int number = first == FirstName::itself ? 0 : 1; number < kMostDatedNames; number++) {
    const std::string shown =
        number == 0 ? shown_name : dated_name(shown_name, "conflict", now, number);
    const std::string name = choose_name(names, directory, shown, ShownAs::flat, {}, policy, {});
    // The name is taken, for example by a conflict file of the same second.
    if (name.empty()) continue;
    from.rename_to_free(names.change(), stored_name, in, name);
    // Must be durable before the caller reports the name: these contents exist nowhere else.
    in.sync();
    return in.path_of(name);
  }
  frame::throw_errno(EEXIST, shown_name);
}

}  // namespace bloscfs::fs
