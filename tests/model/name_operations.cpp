#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/model/chooser.hpp"
#include "tests/model/operation.hpp"

namespace bloscfs::test {

namespace {

bool choose_unlink(Chooser& chooser, Operation& operation) {
  operation.path = chooser.chance(95) ? chooser.existing_file() : chooser.directory();
  return true;
}

bool choose_directory(Chooser& chooser, Operation& operation) {
  operation.path = chooser.chance(95) ? chooser.directory() : chooser.file();
  operation.mode = chooser.chance(80) ? 0755 : 0700;
  return true;
}

bool choose_new_name(Chooser& chooser, Operation& operation) {
  operation.path = chooser.path();
  operation.mode = 0644;
  return true;
}

bool choose_rename(Chooser& chooser, Operation& operation) {
  operation.path = chooser.existing_path();
  operation.other = chooser.chance(90) ? chooser.file() : chooser.path();
  return true;
}

bool choose_exchange(Chooser& chooser, Operation& operation) {
  operation.path = chooser.existing_path();
  operation.other = chooser.existing_path();
  return true;
}

/// The target has no "..", so that a moved symlink does not lead out of the tree. It has no suffix
/// of stored frames either, since the mount would lead such a symlink to the shown file.
bool choose_symlink(Chooser& chooser, Operation& operation) {
  operation.path = chooser.file();
  operation.text = chooser.path();
  const fs_std::path name(operation.text);
  return name.extension() != ".b2frame" && name.extension() != ".b2nd" && name.extension() != ".b2";
}

Outcome perform_rename_with(Side& side, const Operation& operation, unsigned flags) {
  return outcome_of(renameat2(AT_FDCWD, (side / operation.path).c_str(), AT_FDCWD,
                              (side / operation.other).c_str(), flags));
}

Outcome perform_rename(Side& side, const Operation& operation) {
  return perform_rename_with(side, operation, 0);
}

Outcome perform_rename_noreplace(Side& side, const Operation& operation) {
  return perform_rename_with(side, operation, RENAME_NOREPLACE);
}

Outcome perform_exchange(Side& side, const Operation& operation) {
  return perform_rename_with(side, operation, RENAME_EXCHANGE);
}

Outcome perform_link(Side& side, const Operation& operation) {
  return outcome_of(link((side / operation.path).c_str(), (side / operation.other).c_str()));
}

Outcome perform_unlink(Side& side, const Operation& operation) {
  return outcome_of(unlink((side / operation.path).c_str()));
}

Outcome perform_mkdir(Side& side, const Operation& operation) {
  return outcome_of(mkdir((side / operation.path).c_str(), operation.mode));
}

Outcome perform_rmdir(Side& side, const Operation& operation) {
  return outcome_of(rmdir((side / operation.path).c_str()));
}

Outcome perform_symlink(Side& side, const Operation& operation) {
  return outcome_of(symlink(operation.text.c_str(), (side / operation.path).c_str()));
}

Outcome perform_readlink(Side& side, const Operation& operation) {
  ByteVector text(4096);
  Outcome outcome = outcome_of(
      readlink((side / operation.path).c_str(), reinterpret_cast<char*>(text.data()), text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::int64_t>(outcome.value, 0)));
  outcome.bytes = std::move(text);
  return outcome;
}

Outcome perform_mkfifo(Side& side, const Operation& operation) {
  return outcome_of(mkfifo((side / operation.path).c_str(), operation.mode));
}

Outcome perform_list(Side& side, const Operation& operation) {
  DIR* directory = opendir((side / operation.path).c_str());
  if (directory == nullptr) return outcome_of(-1);
  Outcome outcome;
  while (const dirent* entry = readdir(directory)) outcome.names.emplace_back(entry->d_name);
  closedir(directory);
  std::sort(outcome.names.begin(), outcome.names.end());
  return outcome;
}

Outcome perform_sync_directory(Side& side, const Operation& operation) {
  const Fd fd(open((side / operation.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return outcome_of(-1);
  return outcome_of(fsync(fd.get()));
}

}  // namespace

const OperationKinds& name_operations() {
  constexpr auto names = Touches::names;
  constexpr auto nothing = Touches::nothing;
  static const OperationKinds kinds = {
      {"rename", 6, names, choose_rename, perform_rename},
      {"rename_noreplace", 3, names, choose_rename, perform_rename_noreplace},
      {"rename_exchange", 3, names, choose_exchange, perform_exchange},
      {"link", 3, names, choose_rename, perform_link},
      {"unlink", 4, names, choose_unlink, perform_unlink},
      {"mkdir", 4, names, choose_directory, perform_mkdir},
      {"rmdir", 9, names, choose_directory, perform_rmdir},
      {"symlink", 3, names, choose_symlink, perform_symlink},
      {"readlink", 5, nothing, choose_path, perform_readlink},
      {"mkfifo", 2, names, choose_new_name, perform_mkfifo},
      {"readdir", 3, nothing, choose_directory, perform_list},
      {"fsync_directory", 1, nothing, choose_directory, perform_sync_directory},
  };
  return kinds;
}

}  // namespace bloscfs::test
