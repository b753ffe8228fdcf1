#pragma once
// How every subcommand makes a file: under a temporary name, until it is complete.

#include <memory>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "frame/store/byte_store.hpp"
#include "fs/source/source_directory.hpp"

namespace bloscfs::tools {

/// The name itself, or what a symlink of that name leads to, so that it is not replaced.
std::string follow_symlink(const std::string& path);

/// True if both are there, and lead to the same file.
bool same_file(const std::string& a, const std::string& b);

/// A directory in which files are made. Throws std::system_error.
frame::UniqueFd open_directory(const std::string& path);

/// What the umask leaves of a mode. To be called once before there are threads.
mode_t without_umask(mode_t mode);

/// Permission bits for what is made of an input: those of a file, of the index of a sparse frame,
/// of the store where it is an address in one; 0666 of anything else.
mode_t mode_of_input(const std::string& path);

/// The name that an output is to have, and a temporary in the same directory.
///
/// Others may be able to write to that directory, and root may make files in it. So a temporary is
/// made with O_EXCL and for its owner alone (0600, 0700); it is changed by its descriptor, never by
/// its name, under which there may be something else by then; it gets owner, group and at last its
/// mode when it is complete; and it is renamed within the open directory. It keeps the set-user-ID
/// and set-group-ID bits of what it replaces only where it has the same owner and group.
class OutputName {
 public:
  /// Where `path` is a symlink, what that leads to.
  explicit OutputName(const std::string& path);
  /// No symlink is followed; the directory outlives this.
  OutputName(const fs::SourceDirectory& directory, std::string name);
  /// Removes the temporary.
  ~OutputName();
  OutputName(const OutputName&) = delete;
  OutputName& operator=(const OutputName&) = delete;

  /// Of the directory; open for reading.
  int directory() const { return directory_.get(); }
  const std::string& name() const { return name_; }
  /// What has the name, which is not followed.
  std::optional<struct stat> status() const;

  /// A new temporary name, for what is made by others.
  const std::string& take_temporary();
  const std::string& temporary() const { return temporary_; }
  /// A temporary that is there no more, or is now called so.
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
  std::string name_;
  std::string temporary_;  ///< empty when there is none
};

}  // namespace bloscfs::tools
