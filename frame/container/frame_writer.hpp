#pragma once
// Writes to one container. A writer holds its current state and the space that superseded states
// left.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "frame/container/frame_info.hpp"
#include "frame/container/grace_period.hpp"
#include "frame/container/metalayer.hpp"
#include "frame/container/transaction.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline editing {
class RecentWriters;
}

namespace bloscfs::frame::inline container {

struct WriterSettings {
  /// Creates the lock sidecar of other Blosc2 programs if it does not exist. The writer always
  /// respects an existing one (frame/formats/sidecars.md, "Sidecar").
  bool locking = false;
  /// How long superseded space waits for readers in other processes. The writer does not wait if it
  /// can tell that no other process has the file open.
  GracePeriod grace = std::chrono::seconds(10);
  /// Shared by the writers of a process that opens the same files again and again; may be null.
  std::shared_ptr<RecentWriters> recent_writers = nullptr;
  /// The file that must be opened, or the directory of a sparse frame. The writer throws ESTALE if
  /// the name leads to another file or directory.
  std::optional<FileId> meant = std::nullopt;
  /// Opens the file `meant`; called at most once. If null, the writer opens the file by its name.
  std::function<std::shared_ptr<StoreFile>()> open = nullptr;
  /// Every commit writes a new file, which takes the name of the old one. Readers of the old state
  /// keep the old file, and so do its other hard links. Ignored for sparse frames.
  bool anew = false;
  /// A commit makes a new file if readers of earlier states keep a contiguous frame from shrinking.
  bool new_file_to_shrink = false;
  /// Writers on many hosts share the directory of a sparse frame, and cannot list it. The writer
  /// draws the numbers of chunk files at random below 0xF0000000, so that writers that count
  /// upwards find free numbers above. It deletes the chunk files that it has superseded when it
  /// ends.
  bool shared = false;
};

/// The properties of a new frame.
struct FrameSettings {
  std::int32_t typesize = 1;
  std::int32_t chunksize = -1;  ///< bytes; -1: set later. Arrays: follows from the shapes
  std::int32_t blocksize = 0;   ///< bytes; 0: automatic. Arrays: follows from the shapes
  codec::CodecId codec = codec::CodecId::blosclz;
  std::uint8_t codec_meta = 0;
  int clevel = 5;
  std::array<codec::FilterStep, codec::kFilterSlots> filters{};
  int splitmode = 4;  ///< 1 always, 2 never, 3 auto, 4 forward-compatible
  bool use_dict = false;
  std::vector<Metalayer> metalayers;  ///< without b2nd
  std::optional<ArrayInfo> array;     ///< all chunks are zero when the first transaction begins
  bool checksums = false;             ///< record checksums in bloscfs.xxh3 from the start
  mode_t mode = 0666;                 ///< of the file, before the umask applies
};

/// One owner may use a writer at a time. Any thread may use its snapshots. At most one transaction
/// is in progress.
class FrameWriter {
 public:
  virtual ~FrameWriter() = default;

  /// Returns the last committed state, or null before the first commit to a new frame.
  virtual std::shared_ptr<const Snapshot> snapshot() const = 0;

  /// Begins a transaction on the last committed state. The writer must outlive it. If a lock
  /// sidecar exists, the transaction locks out other programs until it ends. Throws
  /// std::system_error: ESTALE if another program has changed the container, LockedByOthers if
  /// another program holds its lock.
  virtual std::unique_ptr<Transaction> begin() = 0;

  /// True after a commit that failed when the new state was already in place. begin() then throws
  /// EIO. The caller can open the container again.
  virtual bool is_broken() const = 0;

  /// Frees the space of earlier states that no reader can need any more. begin() also frees such
  /// space, but only where that costs little time. If a contiguous frame can then become shorter,
  /// commits the same contents with chunks moved, so that snapshot() changes.
  virtual void tidy() = 0;
  /// Prepares for a transaction that removes all contents and lets the metalayers grow by `growth`
  /// bytes. Makes room behind the header for the trailer of the empty frame, if a new file cannot
  /// give that room. The contents stay the same, but snapshot() may change. Throws as commit()
  /// does.
  virtual void prepare_to_empty(std::uint64_t /*growth*/) {}
  /// True if the container takes more space than it should, and tidy() may help.
  virtual bool is_oversized() const { return false; }

  /// Rewrites the container without its dead space. Copies chunks as they are stored. Throws as
  /// begin() and commit() do. Rewrites a file with several hard links in place: throws EBUSY while
  /// a reader may use an earlier state, EOPNOTSUPP if the chunks cannot be moved.
  virtual void compact() = 0;

  /// Tells the writer that the container has been renamed. An empty name means that the file was
  /// removed while it is open. Commits then go on in that file, with temporaries in `directory`.
  virtual void moved(std::shared_ptr<StoreDirectory> directory, std::string name) = 0;

  /// Sets the times of the container's file. If they were set in another way, snapshots would take
  /// that for a change. Throws ESTALE if another program has changed the container.
  virtual void set_times(const timespec& accessed, const timespec& modified) = 0;

  /// Returns owner, mode and so on of the writer's own file, even if another file has its name now.
  virtual FileAttributes attributes() const = 0;
  /// Sets the attributes. Not for a container that has a committed state.
  virtual void set_attributes(const FileAttributes& attributes) = 0;
  /// Returns the stamp of the container's file. For a sparse frame this is the index file.
  virtual FileStamp stamp() const = 0;
  /// True unless the container's file was removed. The name may have changed.
  virtual bool has_name() const = 0;
};

}  // namespace bloscfs::frame::inline container
