#include "fs/mount/recovery.hpp"

#include <sstream>
#include <utility>

#include "fs/names/conflict_name.hpp"
#include "fs/options/options.hpp"

namespace bloscfs::fs {
namespace {

struct Target {
  NodeId directory;
  std::string shown_name;
};

/// The directory of a path in the tree, or the root where it is gone.
Target target_of(Tree& tree, const std::string& path) {
  NodeId directory = kRootId;
  std::istringstream parts(path);
  std::string name;
  std::getline(parts, name, '/');
  bool is_there = true;
  for (std::string next; std::getline(parts, next, '/'); name = std::exchange(next, {})) {
    const auto found = is_there ? tree.lookup(directory, name) : std::nullopt;
    is_there = found && S_ISDIR(found->attributes.st_mode);
    if (is_there) directory = found->id;
  }
  return {is_there ? directory : kRootId, name};
}

}  // namespace

void recover_kept(MountSource source, Journal& journal,
                  const std::function<void(const KeptFile&, const std::string& path)>& done) {
  const SourceRoot root(std::move(source.root));
  Classifier classifier(root, false, UnsupportedFiles::refused, nullptr);
  // Beside a single frame there are others, which keep their names.
  Tree tree(root, classifier, std::nullopt, {});
  const NamingPolicy policy{false, WriteOptions().suffix};
  for (const KeptFile& kept : journal.kept()) {
    std::string path;
    if (root.stat(kept.temporary)) {
      const Target target = target_of(tree, kept.path);
      TreeChanges names(tree);
      path = name_frame(names, root, policy, root.directory({}), kept.temporary, target.directory,
                        target.shown_name, FirstName::itself);
    }
    journal.forget(kept.temporary);
    done(kept, path);
  }
  journal.sync();
}

}  // namespace bloscfs::fs
