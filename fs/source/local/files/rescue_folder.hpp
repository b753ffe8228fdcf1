#pragma once
// Where a mount that must end keeps what SOURCE cannot take.

#include <memory>
#include <string>
#include <vector>

#include "frame/store/byte_source.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::fs {

/// Where such folders are unless -o rescue names one; empty for a user without a home.
std::string default_rescue_folder();

/// Opens the folder. If it does not exist, makes it, and the folders above it, with mode 0700.
/// Throws std::system_error; EPERM for a folder in which another user could replace what is kept.
frame::UniqueFd open_rescue_folder(const std::string& directory);

/// Frames of one SOURCE, as ID/TIME/PATH.b2frame, where ID is of SOURCE's absolute path, TIME of
/// the end of a mount, and PATH below SOURCE, by shown names. ID/source holds the path. Not
/// thread-safe.
class RescueFolder {
 public:
  /// `directory`: its path, for messages. `source`: an absolute path.
  RescueFolder(frame::UniqueFd folder, std::string directory, const std::string& source);

  /// The open folder that all are in, whatever SOURCE they are of.
  frame::UniqueFd& descriptor() { return folder_; }

  struct Place {
    std::shared_ptr<frame::StoreDirectory> directory;  ///< made for it
    std::string name;                                  ///< of a file that is not there
    std::string path;                                  ///< of the same, for messages
  };
  /// For what SOURCE would show under that path. Throws std::system_error.
  Place place_for(const std::string& path);

  struct Rescued {
    std::string path;  ///< below SOURCE
    std::string file;  ///< below the folder
  };
  /// What is kept of this SOURCE, in the order of time. Throws std::system_error.
  std::vector<Rescued> rescued() const;
  std::shared_ptr<const frame::StoreFile> open(const Rescued& rescued) const;
  /// With the folders that are empty then.
  void remove(const Rescued& rescued);

 private:
  frame::UniqueFd folder_;
  std::string directory_;
  std::string source_;
  std::string id_;
  std::string time_;  ///< once something is kept
};

}  // namespace bloscfs::fs
