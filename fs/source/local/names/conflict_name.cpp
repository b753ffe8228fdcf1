#include "fs/source/local/names/conflict_name.hpp"

#include <cerrno>
#include <ctime>

#include "frame/store/throw_errno.hpp"
#include "fs/source/naming.hpp"

namespace bloscfs::fs {
std::string name_frame(TreeChanges& names, const SourceRoot& root, const NamingPolicy& policy,
                       const SourceDirectory& from, const std::string& stored_as, NodeId directory,
                       const std::string& shown_name, FirstName first) {
  const std::time_t now = std::time(nullptr);
  const SourcePath path = names.path(directory);
  const SourceDirectory in = root.directory(path);
  for (int number = first == FirstName::itself ? 0 : 1; number < kMostDatedNames; number++) {
    const std::string shown =
        number == 0 ? shown_name : dated_name(shown_name, "conflict", now, number);
    const std::string name = choose_name(names, directory, shown, ShownAs::flat, {}, policy, {});
    // Taken: a conflict of the same file within this second has the name.
    if (name.empty()) continue;
    from.rename_to_free(stored_as, in, name);
    // Durable before it is told of: nobody else has these contents any more.
    in.sync();
    return join_path(path.text(), name);
  }
  frame::throw_errno(EEXIST, shown_name);
}

}  // namespace bloscfs::fs
