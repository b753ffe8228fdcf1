#pragma once
// Where b2frame create makes stores of python-blosc2, and folders of frames: a directory under a
// temporary name until it is complete, from which a .b2z is packed.

#include <optional>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "frame/container/frame_writer.hpp"
#include "frame/pystore/store_packing.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"
#include "tools/output_name.hpp"
#include "tools/progress.hpp"
#include "tools/promised_format.hpp"

namespace bloscfs::tools {

/// Runs `work`, and has what it throws name the output.
template <typename Work>
decltype(auto) blaming_output(const std::string& output, const Work& work) {
  try {
    return work();
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    throw FileError(output, reason(error));
  }
}

/// Draws the bar from the first call on, which tells how much there is. Throws Interrupted.
frame::CopyProgress shown_progress(const char* label, std::optional<Progress>& bar);

/// A frame without contents, as python-blosc2 makes it.
frame::FrameSettings empty_frame(std::int32_t chunksize);

class StoreOutput {
 public:
  /// `may_replace`: a .b2z of that name is replaced; nothing else is. Throws FileError.
  StoreOutput(const std::string& output, bool may_replace);

  bool is_packed() const { return promised_suffix(output_) == ".b2z"; }
  const std::string& shown_name() const { return output_; }
  fs::SourceDirectory top() const;
  /// Where to make the file "a/b/x": the directory, which is made, and the last name. Parts of the
  /// path are no "." and no "..". Throws FileError.
  std::pair<fs::SourceDirectory, std::string> place_of(const std::string& path) const;
  /// Adds the frame that makes the directory a store (frame/formats/stores.md).
  void add_marker() const;
  /// Gives the output its name, and `mode` as the umask leaves it. Throws FileError.
  void commit(mode_t mode);

 private:
  void pack(mode_t mode);

  const std::string output_;
  const bool may_replace_;
  OutputName directory_name_;
  frame::UniqueFd directory_;
};

}  // namespace bloscfs::tools
