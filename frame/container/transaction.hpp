#pragma once
// Changes to a container that take effect together: what a commit makes durable is all of them or,
// after a crash at any moment, none.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/chunk_format.hpp"
#include "frame/container/frame_info.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline container {

/// A chunk's number in the container, and its stored bytes.
struct NumberedChunk {
  std::int64_t number;
  codec::Bytes stored;
};

/// Has one owner at a time. A transaction that is destroyed before publish() leaves the committed
/// state as it is and gives back the space that it took.
///
/// Errors are std::system_error: those of the store (ENOSPC, EIO, EDQUOT...), and
/// - EINVAL for arguments that contradict the container,
/// - EOPNOTSUPP for what its kind cannot do: in variable-size frames resize() and chunks of another
///   size; in frames of VL blocks all changes of chunks; emptying a frame, or a shape that lies
///   beyond the first 512 bytes of its header, where hard links forbid to replace the file;
/// - ESTALE when somebody else has changed the container since its snapshot was taken: nothing is
///   written over.
/// After an error in a change or in write() the same call may be tried again, but for chunks that a
/// store takes its time for: their errors are those of later calls. After one of these, and after
/// one in flush() or publish(), the transaction can only be destroyed.
///
/// Memory: about 100 bytes for each chunk that is put. Long streams are committed in parts.
class Transaction {
 public:
  virtual ~Transaction() = default;

  /// The container as it will be; frame_len, cbytes and trailer_len are those of the last commit.
  virtual const FrameInfo& info() const = 0;

  // --- changes

  /// These chunks get their stored bytes, which are written at once, and in one piece where they
  /// lie one behind the other in memory. Each is a regular chunk (version 5, extended header, no
  /// zeros, NaNs or uninitialised values without bytes), and its decoded size is what write() will
  /// find the rules to ask for. Arrays: its blocks have the frame's size.
  virtual void put_chunks(std::span<const NumberedChunk> chunks) = 0;
  void put_chunk(std::int64_t number, codec::Bytes stored) {
    const NumberedChunk chunk{number, stored};
    put_chunks({&chunk, 1});
  }
  /// Chunk `number` becomes zero, nan (items of 4 or 8 bytes) or uninit.
  virtual void put_special(std::int64_t number, codec::SpecialValue value) = 0;
  /// Sets the decoded size. New chunks are zero, dropped ones are gone even if they come back. The
  /// caller puts a last chunk whose size changes, unless that is zero or uninit before and after.
  /// Not for arrays.
  virtual void resize(std::int64_t nbytes) = 0;
  /// Sets the size of chunks, and of the blocks that they are made of, of a frame without contents.
  virtual void set_chunksize(std::int32_t chunksize, std::int32_t blocksize) = 0;
  /// Sets the shape of an array, of which only the first dimension may change (any where no element
  /// remains or was). Chunks come and go as with resize().
  virtual void set_shape(const std::vector<std::int64_t>& shape) = 0;
  /// Name and content as for extended attributes: 1 to 31 bytes without NUL, and any bytes.
  /// EPERM for bloscfs.xxh3; ENOSPC when the trailer has no room for more.
  virtual void set_vlmetalayer(const std::string& name, codec::Bytes content) = 0;
  /// The same with one of another frame's, as it is stored there: write() copies it, and takes no
  /// memory for it, whatever it holds.
  virtual void copy_vlmetalayer(const Snapshot& from, const MetalayerEntry& entry) = 0;
  /// False if there is none of that name. Without bloscfs.xxh3 no checksums are kept from now on.
  virtual bool remove_vlmetalayer(const std::string& name) = 0;
  /// The same for fixed metalayers, for which the container's header is written anew, and so a
  /// contiguous frame as a whole, by a new file: EOPNOTSUPP where hard links forbid that. EPERM for
  /// those that say what the frame is, EINVAL before the first commit of a new frame.
  virtual void set_metalayer(const std::string& name, codec::Bytes content) = 0;
  virtual bool remove_metalayer(const std::string& name) = 0;
  /// Times that the container's file is to have as soon as it is published.
  virtual void set_times(const FileTimes& times) = 0;

  // --- commit, in steps, so that many containers can share the two flushes between them

  /// For a caller who has put all chunks and will flush soon: the disk begins with them.
  virtual void begin_flush() = 0;
  /// Writes what is left to be written to where no committed state reaches.
  virtual void write() = 0;
  /// True if write() has also moved chunks that nobody has put: what was opened of any chunk is not
  /// where it was.
  virtual bool moves_chunks() const { return false; }
  /// Makes durable what write() wrote, and then what publish() did.
  virtual void flush() = 0;
  /// In place of flush(), after the caller has made everything durable, as syncfs(2) does.
  virtual void flushed() = 0;
  /// Makes readers find the new state. A new container is complete before that. Returns the stamp
  /// of the file that holds the state now, whatever its name leads to.
  virtual FileStamp publish() = 0;
  /// Ends the transaction, which has been flushed; returns the new state. The next one may begin.
  virtual std::shared_ptr<const Snapshot> finish() = 0;

  /// All steps.
  std::shared_ptr<const Snapshot> commit() {
    write();
    flush();
    publish();
    flush();
    return finish();
  }
};

}  // namespace bloscfs::frame::inline container
