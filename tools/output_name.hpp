#pragma once
// How every subcommand makes a file: under a temporary name, until it is complete.

#include <memory>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "frame/store/byte_store.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "tools/interrupt.hpp"

namespace bloscfs::tools {

/// The name itself, or what a symlink of that name leads to, so that it is not replaced.
std::string follow_symlink(const std::string& path);

/// True if both are there, and lead to the same file. `input` may be an address in a store, which
/// leads to the store.
bool same_file(const std::string& input, const std::string& output);

/// A directory in which files are made. Throws std::system_error.
frame::UniqueFd open_directory(const std::string& path);

/// What the umask leaves of a mode. To be called once before there are threads.
mode_t without_umask(mode_t mode);

/// Permission bits for what is made of an input: those of a file, of the index of a sparse frame,
/// of the store where it is an address in one; 0666 of anything else.
mode_t mode_of_input(const std::string& path);

/// The name that an output is to have, and a temporary in the same directory.
///
/// Root may make files in a directory to which others can write. So a temporary is made with
/// O_EXCL, for its owner alone (0600, 0700). It is changed by its descriptor and never by its name,
/// which may lead to something else by then. It gets owner, group and at last its mode when it is
/// complete, and is renamed within the open directory. The set-user-ID and set-group-ID bits of a
/// file that it replaces stay only if owner and group are the same and the file had no other name.
class OutputName {
 public:
  /// Where `path` is a symlink, what that leads to.
  explicit OutputName(const std::string& path);
  /// No symlink is followed; the directory outlives this.
  OutputName(const fs::SourceDirectory& directory, std::string name);
  /// Removes the temporary, and so does an interrupt.
  ~OutputName();
  OutputName(const OutputName&) = delete;
  OutputName& operator=(const OutputName&) = delete;

  /// Of the directory; open for reading.
  int directory() const { return directory_.get(); }
  const std::string& name() const { return name_; }
  /// What has the name, which is not followed.
  std::optional<struct stat> status() const;

  const std::string& temporary() const { return temporary_; }
  /// Of a temporary that was made elsewhere, or renamed; empty if there is none any more.
  void set_temporary(std::string name) { temporary_ = std::move(name); }
  /// A temporary for its owner alone, open for reading and writing.
  frame::UniqueFd make_file();
  frame::UniqueFd make_directory();

  /// What the output gets where there was nothing of its name: its own attributes as a file that
  /// was just made, with `mode` as the umask leaves it. Else those of what it replaces.
  frame::FileAttributes attributes_for(const frame::StoreFile& made, mode_t mode) const;
  void publish(frame::RenameMode mode);

 private:
  frame::UniqueFd directory_;
  std::optional<WatchedDirectory> watched_;
  std::string name_;
  std::string temporary_;  ///< empty when there is none
};

}  // namespace bloscfs::tools
