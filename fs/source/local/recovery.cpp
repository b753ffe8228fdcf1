#include "fs/source/local/recovery.hpp"

#include <algorithm>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "frame/store/local_store.hpp"
#include "frame/store/temporary_name.hpp"
#include "fs/options/options.hpp"
#include "fs/source/local/names/leftover_sweep.hpp"
#include "fs/source/local/names/name_choice.hpp"

namespace bloscfs::fs {
namespace {

struct Target {
  NodeId directory;
  std::string shown_name;
};

/// Splits a path in the tree into its directory and its last name. Takes the root if that directory
/// is gone.
Target target_of(Request& request, Tree& tree, const std::string& path) {
  NodeId directory = kRootId;
  std::istringstream parts(path);
  std::string name;
  std::getline(parts, name, '/');
  bool is_there = true;  // all directories of the path so far exist
  for (std::string next; std::getline(parts, next, '/'); name = std::exchange(next, {})) {
    const auto found = is_there ? tree.lookup(request, directory, name) : std::nullopt;
    is_there = found && S_ISDIR(found->attributes.st_mode);
    if (is_there) directory = found->id;
  }
  return {is_there ? directory : kRootId, name};
}

/// How many bytes are copied at once.
constexpr std::size_t kPiece = std::size_t{1} << 20;

/// Copies a file durably into the directory, under a temporary's name. Returns that name.
std::string copy_into(frame::StoreDirectory& directory, const frame::StoreFile& from) {
  std::string name = frame::temporary_name();
  const auto copy = directory.create(name, 0600);
  try {
    const auto size = static_cast<std::uint64_t>(from.stamp().size);
    std::vector<std::uint8_t> piece(std::min<std::uint64_t>(size, kPiece));
    for (std::uint64_t at = 0; at < size; at += piece.size()) {
      piece.resize(std::min<std::uint64_t>(size - at, kPiece));
      from.read_exactly_at(at, piece, "rescued frame");
      copy->write_at(at, piece);
    }
    copy->set_attributes(from.attributes());
    copy->sync();
  } catch (...) {
    directory.unlink(name);
    throw;
  }
  return name;
}

}  // namespace

void recover_kept(MountSource source, Journal* journal,
                  const std::function<void(const KeptFile&, const std::string& path)>& done,
                  const std::function<void(const std::string&)>& failed) {
  Request request;
  const SourceRoot root(std::move(source.root));
  Classifier classifier(root, {.stores = false}, nullptr);
  // The tree has the whole directory even if SOURCE is a single frame. Otherwise a recovered frame
  // could get the name of another file.
  Tree tree(root, classifier, std::nullopt, {});
  const NamingPolicy policy{false, WriteOptions().suffix};
  const auto give_name = [&](const std::string& temporary, const std::string& path) {
    const Target target = target_of(request, tree, path);
    NamesWork work(request);
    TreeChanges names(work, tree, ChangedBy::daemon);
    return name_frame(names, policy, root.directory({}), temporary, target.directory,
                      target.shown_name, FirstName::itself);
  };
  for (const KeptFile& kept : journal != nullptr ? journal->kept() : std::vector<KeptFile>()) {
    const std::string path =
        root.stat(kept.temporary) ? give_name(kept.temporary, kept.path) : std::string();
    journal->forget(kept.temporary);
    done(kept, path);
  }
  if (journal != nullptr) journal->sync();
  const auto directory = frame::make_local_store(root.open({}, O_RDONLY | O_DIRECTORY), nullptr);
  for (const auto& rescued :
       source.rescue ? source.rescue->rescued() : std::vector<RescueFolder::Rescued>()) {
    const auto frame = source.rescue->open(rescued);
    std::string path;
    try {
      const std::string temporary = copy_into(*directory, *frame);
      try {
        path = give_name(temporary, rescued.path);
      } catch (...) {
        directory->unlink(temporary);
        throw;
      }
    } catch (const std::system_error& error) {
      failed(fmt::format("cannot recover {}: {}; its {} bytes stay in {}", rescued.path,
                         error.what(), frame->stamp().size, source.rescue->path_of(rescued)));
      continue;
    }
    source.rescue->remove(rescued);
    done({rescued.file, rescued.path, rescued.loss}, path);
  }
  // Otherwise the lock file would stay, and keep other users from mounting.
  if (!source.is_below_another_mount) LeftoverSweep(root, tree, source.single, journal).wait();
}

}  // namespace bloscfs::fs
