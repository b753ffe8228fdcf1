#pragma once
// The folder where a mount that must end saves contents that SOURCE cannot take.

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"
#include "frame/store/byte_store.hpp"
#include "fs/support/loss.hpp"

namespace bloscfs::fs {

/// Returns the path of the rescue folder of a mount without -o rescue; empty for a user without a
/// home directory.
std::string default_rescue_folder();

/// Another user could replace files in the folder. what() does not include the folder's path.
struct RescueFolderUnsafe : std::runtime_error {
  RescueFolderUnsafe(const std::string& reason, std::string command,
                     std::optional<uid_t> owned_by = std::nullopt)
      : std::runtime_error(reason), cure(std::move(command)), owner(owned_by) {}
  std::string cure;            ///< a shell command
  std::optional<uid_t> owner;  ///< set if the folder belongs to another user
};

/// Whether to make a rescue folder that does not exist, and also the folders above it.
enum class IfMissing { fail, make, make_all };

/// Opens a rescue folder. Makes folders with mode 0700. Throws std::system_error, and
/// RescueFolderUnsafe.
frame::UniqueFd open_rescue_folder(const std::string& directory, IfMissing if_missing);

/// The saved frames of one SOURCE, at ID/TIME/PATH.b2frame. ID is made from the absolute path of
/// SOURCE. TIME is when the first frame of a mount was saved. PATH is the shown path below SOURCE.
/// The file ID/source contains the path of SOURCE. Not thread-safe.
class RescueFolder {
 public:
  /// `directory` is the path of `folder`, for messages. `source` is an absolute path.
  RescueFolder(frame::UniqueFd folder, std::string directory, const std::string& source);

  /// The open rescue folder, which contains the frames of all SOURCEs.
  frame::UniqueFd& descriptor() { return folder_; }

  /// The path of the rescue folder, for messages.
  const std::string& directory() const { return directory_; }
  /// Returns the command that recovers the frames.
  std::string recover_command() const;
  /// Returns the path of the folder with the frames of this SOURCE, for messages.
  std::string path() const { return directory_ + "/" + id_; }

  struct Place {
    std::shared_ptr<frame::StoreDirectory> directory;  ///< place_for() makes it
    std::string name;                                  ///< of a file that does not exist yet
    std::string path;                                  ///< of that file, for messages
  };
  /// Returns the place for a frame of the file that the mount shows as `path`. Makes the folders
  /// that will contain the frame. Throws std::system_error.
  Place place_for(const std::string& path);
  /// To be called before the frame gets the name. Remembers its loss in an empty file PLACE.LOSS
  /// (see word_of()).
  static void mark(const Place& place, Loss loss);

  struct Rescued {
    std::string path;  ///< shown path, relative to SOURCE
    std::string file;  ///< path of the frame, relative to the rescue folder
    Loss loss = Loss::none;
  };
  /// Returns the saved frames of this SOURCE, sorted by the time of the mount that saved them.
  /// Throws std::system_error.
  std::vector<Rescued> rescued() const;
  /// Returns the path of a saved frame, for messages.
  std::string path_of(const Rescued& rescued) const { return directory_ + "/" + rescued.file; }
  std::shared_ptr<const frame::StoreFile> open(const Rescued& rescued) const;
  /// Removes the frame, and the folders that become empty.
  void remove(const Rescued& rescued);

 private:
  frame::UniqueFd folder_;
  std::string directory_;
  std::string source_;
  std::string id_;
  std::string time_;  ///< folder of this mount; empty until the first place_for()
};

}  // namespace bloscfs::fs
