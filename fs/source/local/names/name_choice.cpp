#include "fs/source/local/names/name_choice.hpp"

#include <string_view>
#include <utility>

#include "fs/source/local/files/target_name.hpp"

namespace bloscfs::fs {

std::string choose_name(TreeLooks& names, NodeId directory, const std::string& shown_name,
                        ShownAs shown, const std::string& previous, const NamingPolicy& policy,
                        const TreeLooks::AfterChange& after_change) {
  std::string_view suffix = shown == ShownAs::array ? kArraySuffix : policy.suffix;
  // As python-blosc2 names the leaves of its stores.
  if (shown == ShownAs::flat && names.is_in_store(directory)) suffix = kFlatLeafSuffix;
  for (std::string& name : container_names(shown_name, shown, previous, suffix))
    if (names.fits(directory, shown_name, name, shown, after_change)) return std::move(name);
  return {};
}

}  // namespace bloscfs::fs
