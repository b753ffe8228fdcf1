#pragma once
// Where b2frame create writes to: a new frame that gets its name only when it is complete.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "frame/container/frame_writer.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "tools/interrupt.hpp"
#include "tools/output_name.hpp"

namespace bloscfs::tools {

/// Whether a frame is on the disk, too, when it gets its name.
enum class Durability { left_to_kernel, at_commit };

/// Errors are FileError, which names the output.
class FrameOutput {
 public:
  /// A frame or a sparse frame that is called `path` is replaced and passes on its owner, group and
  /// mode; where that is a symlink, what it leads to. Other directories, devices and fifos are
  /// refused, and what is mounted for writing. A new one gets `mode` as the umask leaves it, such
  /// as the input's.
  FrameOutput(const std::string& path, bool sparse, frame::FrameSettings settings,
              mode_t mode = 0666, Durability durability = Durability::left_to_kernel);
  /// The same in an open directory, which outlives it, where no symlink is followed; `shown_name`
  /// is for messages.
  FrameOutput(const fs::SourceDirectory& directory, const std::string& name, std::string shown_name,
              bool sparse, frame::FrameSettings settings);
  /// Removes what was written unless commit() was reached.
  ~FrameOutput();
  FrameOutput(const FrameOutput&) = delete;
  FrameOutput& operator=(const FrameOutput&) = delete;

  /// Gives the frame owner, mode, times and extended attributes with its name.
  void take_over(frame::FileAttributes attributes) { attributes_ = std::move(attributes); }
  /// Of these the mode and the times alone.
  void take_over(const struct stat& st) { status_ = st; }
  void set_vlmetalayer(const std::string& name, codec::Bytes content);
  /// As it is stored there; `from` outlives this.
  void copy_vlmetalayer(const frame::Snapshot& from, const frame::MetalayerEntry& entry);
  /// Stores the next chunk: zero or NaN, or its stored bytes. `content_end` is the decoded size up
  /// to its end, which is ignored for arrays.
  void add_chunk(std::int64_t content_end, codec::SpecialValue special, codec::Bytes stored);
  /// Completes the frame and gives it its name.
  void commit();
  /// Of the frame, or of all files of a sparse frame, once it is committed.
  std::int64_t stored_bytes() const;

 private:
  enum class Kind { nothing, file, sparse_frame };

  void look_at_target();
  void create(frame::FrameSettings& settings);
  void blaming_output(const std::function<void()>& work) const;
  frame::FileAttributes attributes_for(const frame::StoreFile& made) const;
  void give_attributes_to_sframe() const;
  void give_attributes() const;
  void swap_names();

  std::string shown_name_;  ///< as given, for messages
  const bool sparse_;
  const mode_t mode_ = 0666;
  const Durability durability_;
  std::optional<frame::FileAttributes> attributes_;
  std::optional<struct stat> status_;
  std::optional<OutputName> name_;
  Kind target_ = Kind::nothing;
  std::optional<WatchedLock> lock_;  ///< on what is there
  frame::UniqueFd replaced_;         ///< the directory of a sparse frame that is there
  frame::UniqueFd made_;             ///< that of a new one
  std::unique_ptr<frame::FrameWriter> writer_;
  std::unique_ptr<frame::Transaction> transaction_;
  std::int64_t chunks_ = 0;
};

}  // namespace bloscfs::tools
