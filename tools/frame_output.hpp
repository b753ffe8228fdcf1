#pragma once
// Writes a new frame, as b2frame create does. The frame gets its name only when it is complete.

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

/// Whether commit() waits until the frame is on the disk.
enum class Durability { left_to_kernel, at_commit };

/// Writes a new frame. All functions throw FileError, which names the output.
class FrameOutput {
 public:
  /// Replaces a file or a sparse frame called `path`. The new frame takes over the owner, group and
  /// mode of the replaced one. If `path` is a symlink, replaces its target. Refuses other
  /// directories, devices and fifos, and a target that is mounted for writing. If there is no
  /// target, the frame gets `mode` as the umask leaves it. Throws UsageError if `path` cannot be
  /// the name of a file.
  FrameOutput(const std::string& path, bool sparse, frame::FrameSettings settings,
              mode_t mode = 0666, Durability durability = Durability::left_to_kernel);
  /// Makes the frame in an open directory, which must outlive this object. Refuses a symlink.
  /// `shown_name` is for messages.
  FrameOutput(const fs::SourceDirectory& directory, const std::string& name, std::string shown_name,
              bool sparse, frame::FrameSettings settings);
  /// Removes what was written, unless commit() has given it its name.
  ~FrameOutput();
  FrameOutput(const FrameOutput&) = delete;
  FrameOutput& operator=(const FrameOutput&) = delete;

  /// Makes commit() give the frame these attributes.
  void take_over(frame::FileAttributes attributes) { attributes_ = std::move(attributes); }
  /// Makes commit() give the frame the mode and the times of `st`.
  void take_over(const struct stat& st) { status_ = st; }
  void set_vlmetalayer(const std::string& name, codec::Bytes content);
  /// Copies a vlmetalayer as it is stored. `from` must outlive this object.
  void copy_vlmetalayer(const frame::Snapshot& from, const frame::MetalayerEntry& entry);
  /// Stores the next chunk: a special value, or stored bytes. `content_end` is the size of the
  /// contents up to the end of the chunk; ignored for arrays.
  void add_chunk(std::int64_t content_end, codec::SpecialValue special, codec::Bytes stored);
  /// Completes the frame and gives it its name.
  void commit();
  /// Returns the stored bytes of all files of the frame. Call it after commit().
  std::int64_t stored_bytes() const;

 private:
  enum class Kind { nothing, file, sparse_frame };

  void check_target();
  void create(frame::FrameSettings& settings);
  void with_output_errors(const std::function<void()>& work) const;
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
  Kind target_ = Kind::nothing;      ///< what the new frame replaces
  std::optional<WatchedLock> lock_;  ///< on the frame to be replaced
  frame::UniqueFd replaced_;         ///< directory of a sparse frame to be replaced
  frame::UniqueFd made_;             ///< directory of a new sparse frame
  std::unique_ptr<frame::FrameWriter> writer_;
  std::unique_ptr<frame::Transaction> transaction_;
  std::int64_t chunks_ = 0;
};

}  // namespace bloscfs::tools
