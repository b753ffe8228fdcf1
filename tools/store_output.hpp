#pragma once
// The output of b2frame create for stores of python-blosc2 and folders of frames. It is a directory
// under a temporary name until it is complete. A .b2z is packed from it.

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

/// Runs `work`. Turns its errors into a FileError that names the output.
template <typename Work>
decltype(auto) with_output_errors(const std::string& output, const Work& work) {
  try {
    return work();
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    throw FileError(output, output_reason(error, output));
  }
}

/// Returns a function that draws the progress bar. Its first call creates the bar, with the total.
/// The function throws Interrupted.
frame::CopyProgress shown_progress(const char* label, std::optional<Progress>& bar);

/// Returns the settings of a frame without contents, as python-blosc2 makes it.
frame::FrameSettings empty_frame(std::int32_t chunksize);

class StoreOutput {
 public:
  /// Replaces an existing .b2z only if `may_replace` is true, and never replaces other outputs.
  /// Throws FileError.
  StoreOutput(const std::string& output, bool may_replace);

  bool is_packed() const { return promised_suffix(output_) == ".b2z"; }
  const std::string& shown_name() const { return output_; }
  fs::SourceDirectory top() const;
  /// Creates the directories for the file "a/b/x". Returns the innermost directory and the last
  /// name. The path must not contain "." or "..". Throws FileError.
  std::pair<fs::SourceDirectory, std::string> place_of(const std::string& path) const;
  /// Adds the frame that marks the directory as a store (frame/formats/stores.md).
  void add_marker() const;
  /// Gives the output its name, and `mode` as the umask allows. Throws FileError.
  void commit(mode_t mode);

 private:
  void pack(mode_t mode);

  const std::string output_;
  const bool may_replace_;
  OutputName directory_name_;
  frame::UniqueFd directory_;
};

}  // namespace bloscfs::tools
