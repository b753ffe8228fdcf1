#pragma once
// How subcommands create a file: under a temporary name, until it is complete.

#include <memory>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "frame/store/byte_store.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "tools/interrupt.hpp"

namespace bloscfs::tools {

/// Returns the target if `path` is a symlink, so that the symlink is not replaced; else `path`.
std::string follow_symlink(const std::string& path);

/// True if both exist and are the same file. If `input` is the address of a leaf (STORE:/KEY), the
/// file of the store is compared.
bool same_file(const std::string& input, const std::string& output);

/// Opens a directory in which files are created. Throws std::system_error.
frame::UniqueFd open_directory(const std::string& path);

/// Returns `mode` without the bits of the umask. Must be called once before other threads start.
mode_t without_umask(mode_t mode);

/// Returns the permission bits for an output made from this input: those of a file, of the index of
/// a sparse frame, or of the store of an address. Returns 0666 for everything else.
mode_t mode_of_input(const std::string& path);

/// The name of an output, and a temporary in the same directory.
///
/// Root may create files in a directory that other users can write. Therefore a temporary is
/// created with O_EXCL and only for its owner (0600, 0700). It is changed only through its
/// descriptor, because its name may lead to another file by then. When it is complete, it gets its
/// owner, its group and last its mode, and is renamed within the open directory. It inherits the
/// set-user-ID and set-group-ID bits of a replaced file only under two conditions. Owner and group
/// must be the same, and the replaced file must have no other name.
class OutputName {
 public:
  /// If `path` is a symlink, uses its target.
  explicit OutputName(const std::string& path);
  /// Does not follow symlinks. `directory` must outlive the object.
  OutputName(const fs::SourceDirectory& directory, std::string name);
  /// Removes the temporary. An interrupt removes it, too.
  ~OutputName();
  OutputName(const OutputName&) = delete;
  OutputName& operator=(const OutputName&) = delete;

  /// Returns the descriptor of the directory, open for reading.
  int directory() const { return directory_.get(); }
  const std::string& name() const { return name_; }
  /// Returns the status of the file that has the name now, or nullopt if no file has it. Does not
  /// follow a symlink.
  std::optional<struct stat> status() const;

  const std::string& temporary() const { return temporary_; }
  /// Sets the name of a temporary that was created or renamed elsewhere; empty if it is gone.
  void set_temporary(std::string name) { temporary_ = std::move(name); }
  /// Creates a temporary file that only its owner can open. The descriptor is open for reading and
  /// writing.
  frame::UniqueFd make_file();
  frame::UniqueFd make_directory();

  /// Returns the attributes for the output. If it replaces a file, it gets the attributes of that
  /// file. If not, it gets its own attributes as a new file, with `mode` as the umask allows.
  frame::FileAttributes attributes_for(const frame::StoreFile& made, mode_t mode) const;
  /// Gives the temporary the name of the output, and makes the rename durable.
  void publish(frame::RenameMode mode);

 private:
  frame::UniqueFd directory_;
  std::optional<WatchedDirectory> watched_;
  std::string name_;
  std::string temporary_;  ///< empty if there is no temporary
};

}  // namespace bloscfs::tools
