#pragma once
// Frames of what a mount could not commit before it ended. They have temporaries' names in SOURCE,
// and its journal says whose contents they hold, so that nothing is dropped silently.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/byte_store.hpp"

namespace bloscfs::fs {

struct KeptFile {
  std::string temporary;  ///< name of the frame, beside the journal
  std::string path;       ///< below SOURCE, by the name that the mount showed the file under
};

/// The journal of a SOURCE (".bloscfs-lock" in it, ".NAME.bloscfs-lock" beside a single frame), a
/// line `kept TEMPORARY PATH` for each, in which bytes other than letters, digits and "._-/" are
/// written %XX. Others may have written to it: lines that are none are no files. Errors are
/// std::system_error.
class KeptFiles {
 public:
  KeptFiles(std::shared_ptr<frame::StoreDirectory> directory,
            const std::optional<std::string>& single);

  std::vector<KeptFile> list() const;
  /// Durable when it returns, as is a name that the directory was given before.
  void add(const KeptFile& file);
  void forget(const std::string& temporary);

 private:
  void write(const std::vector<KeptFile>& files);

  std::shared_ptr<frame::StoreDirectory> directory_;
  std::string journal_;
};

/// The same for any directory, by all journals that it holds.
std::vector<KeptFile> kept_files_in(const std::shared_ptr<frame::StoreDirectory>& directory,
                                    const std::vector<std::string>& names);

}  // namespace bloscfs::fs
