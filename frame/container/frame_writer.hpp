#pragma once
// Writing to one container: its present state, and the space that earlier states have left.

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
  /// Makes the lock sidecar of other Blosc2 programs where there is none. One that is there is
  /// always obeyed (frame/formats/sidecars.md, "Sidecar").
  bool locking = false;
  /// How long superseded space waits for readers in other processes, unless it is known that there
  /// are none.
  GracePeriod grace = std::chrono::seconds(10);
  /// Shared by writers of a process whose files are opened again and again; may be null.
  std::shared_ptr<RecentWriters> recent_writers = nullptr;
  /// The file, or the directory of a sparse frame, that is to be opened: ESTALE for another one.
  std::optional<FileId> meant = std::nullopt;
  /// Opens that; null: it is opened by its name. Asked once.
  std::function<std::shared_ptr<StoreFile>()> open = nullptr;
  /// Each commit makes a new file, as compact() does, so that who reads the old state goes on with
  /// it, and so do other names of the file. Not of sparse frames.
  bool anew = false;
  /// The same where readers of earlier states keep a contiguous frame from getting shorter.
  bool anew_beside_readers = false;
  /// Writers on many hosts share the directory of a sparse frame, which nobody can look through:
  /// numbers of chunk files are drawn at random below 0xF0000000, and the writer gives up what it
  /// has superseded when it ends.
  bool shared = false;
};

/// What a new frame says of itself.
struct FrameSettings {
  std::int32_t typesize = 1;
  std::int32_t chunksize = -1;  ///< bytes; -1: set later. Arrays: from the shapes
  std::int32_t blocksize = 0;   ///< bytes, 0 automatic. Arrays: from the shapes
  codec::CodecId codec = codec::CodecId::blosclz;
  std::uint8_t codec_meta = 0;
  int clevel = 5;
  std::array<codec::FilterStep, codec::kFilterSlots> filters{};
  int splitmode = 4;  ///< 1 always, 2 never, 3 auto, 4 forward-compat
  bool use_dict = false;
  std::vector<Metalayer> metalayers;  ///< without b2nd
  std::optional<ArrayInfo> array;     ///< the first transaction begins with all its chunks zero
  bool checksums = false;             ///< keep bloscfs.xxh3 from the start
  mode_t mode = 0666;                 ///< of the file, before the umask
};

/// For one owner at a time; its snapshots are for any thread. At most one transaction is under way.
class FrameWriter {
 public:
  virtual ~FrameWriter() = default;

  /// The last committed state; null before the first commit to a new frame.
  virtual std::shared_ptr<const Snapshot> snapshot() const = 0;

  /// Begins a transaction on that state. The writer outlives it. Where a lock sidecar exists other
  /// programs are locked out until it ends. Throws std::system_error: ESTALE when somebody else has
  /// changed the container, LockedByOthers when somebody else holds its lock.
  virtual std::unique_ptr<Transaction> begin() = 0;

  /// True after a commit that failed when the new state was in place already: begin() gives EIO
  /// then, and the container can be opened again.
  virtual bool is_broken() const = 0;

  /// Gives back the space of earlier states that nobody can be reading any more. begin() does the
  /// same in passing, without spending much time on it. Where that lets a contiguous frame become
  /// shorter, commits the same contents with chunks moved: snapshot() is another one then.
  virtual void tidy() = 0;
  /// Before a transaction that leaves no contents, and metalayers that take `growth` bytes more
  /// than now: makes room for the trailer of such a state, where it needs room that no new file can
  /// give. snapshot() is another one then, with the same contents. Throws as commit() does.
  virtual void make_room_to_empty(std::uint64_t /*growth*/) {}
  /// True if the container takes more space than it should, and tidy() may help.
  virtual bool is_oversized() const { return false; }

  /// Rewrites the container without its dead space; chunks are copied as they are stored.
  /// Throws as begin() and commit() do. A file with several hard links is rewritten in place: EBUSY
  /// while somebody may be reading an earlier state, EOPNOTSUPP where its chunks cannot be moved.
  virtual void compact() = 0;

  /// The container has been renamed. An empty name: it was removed while it is open, and commits go
  /// on in its file; `directory` is where a temporary may be made.
  virtual void moved(std::shared_ptr<StoreDirectory> directory, std::string name) = 0;

  /// Sets the times of the container's file, which snapshots would otherwise take for a change.
  /// ESTALE when somebody else has changed the container.
  virtual void set_times(const timespec& accessed, const timespec& modified) = 0;

  /// Owner, mode and so on of the container's file, whatever has its name now.
  virtual FileAttributes attributes() const = 0;
  /// Sets them; not for a container that has a committed state.
  virtual void set_attributes(const FileAttributes& attributes) = 0;
  /// Of that file, which a sparse frame's index is.
  virtual FileStamp stamp() const = 0;
  /// True unless the container's file was removed: then it has a name, though perhaps another one.
  virtual bool has_name() const = 0;
};

}  // namespace bloscfs::frame::inline container
