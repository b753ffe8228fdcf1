#pragma once
// Changes to a container that take effect together. After a crash at any moment the container has
// all of them or none.

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

/// A set of changes with one owner at a time. Destroying it before publish() leaves the committed
/// state as it is, and frees the space that the transaction took.
///
/// Errors are std::system_error: those of the store (ENOSPC, EIO, EDQUOT...), and
/// - EINVAL: the arguments contradict the container.
/// - EOPNOTSUPP: this kind of container cannot do it. Variable-size frames allow neither resize()
///   nor chunks of another size. Frames of VL blocks allow no changes of chunks. If hard links
///   forbid replacing the file, the frame cannot be emptied, and a shape beyond the first 512 bytes
///   of the header cannot change.
/// - ESTALE: another program has changed the container since the snapshot was taken. Nothing is
///   overwritten.
///
/// After an error in a change or in write(), the caller may repeat the call. A slow store stores
/// chunks in the background, and a later call reports their errors. After such an error, or an
/// error in flush() or publish(), the caller can only destroy the transaction.
///
/// Memory: about 100 bytes for each chunk that is put. Commit long streams in parts.
class Transaction {
 public:
  virtual ~Transaction() = default;

  /// Returns the container as it will be after the commit. frame_len, cbytes and trailer_len are
  /// those of the last commit.
  virtual const FrameInfo& info() const = 0;

  // --- changes

  /// Stores the bytes of these chunks at once, in one write if they are adjacent in memory. Each is
  /// a regular chunk: version 5, extended header, no zeros, NaNs or uninitialised values without
  /// bytes. Its decoded size must be the one that the frame requires; write() checks that. Arrays:
  /// its blocks have the frame's block size.
  virtual void put_chunks(std::span<const NumberedChunk> chunks) = 0;
  void put_chunk(std::int64_t number, codec::Bytes stored) {
    const NumberedChunk chunk{number, stored};
    put_chunks({&chunk, 1});
  }
  /// Makes chunk `number` zero, nan (items of 4 or 8 bytes) or uninit.
  virtual void put_special(std::int64_t number, codec::SpecialValue value) = 0;
  /// Sets the decoded size. New chunks are zero. Dropped chunks are gone, even if the frame grows
  /// again. If the size of a last chunk changes, the caller must put it, unless it is zero or
  /// uninit before and after. Not for arrays.
  virtual void resize(std::int64_t nbytes) = 0;
  /// Sets the sizes of chunks and blocks of a frame without contents.
  virtual void set_chunksize(std::int32_t chunksize, std::int32_t blocksize) = 0;
  /// Sets the shape of an array. Only the first dimension may change, unless the array had no
  /// elements or loses all of them. Adds and drops chunks as resize() does.
  virtual void set_shape(const std::vector<std::int64_t>& shape) = 0;
  /// Sets a vlmetalayer. The name has 1 to 31 bytes without NUL; the content is any bytes. EPERM
  /// for bloscfs.xxh3; ENOSPC if the trailer has no room for more.
  virtual void set_vlmetalayer(const std::string& name, codec::Bytes content) = 0;
  /// Sets a vlmetalayer to the stored bytes of one of another frame. write() copies it, and so it
  /// takes no memory.
  virtual void copy_vlmetalayer(const Snapshot& from, const MetalayerEntry& entry) = 0;
  /// Returns false if no vlmetalayer has that name. Removing bloscfs.xxh3 ends the recording of
  /// checksums.
  virtual bool remove_vlmetalayer(const std::string& name) = 0;
  /// The next two functions set and remove a fixed metalayer. They rewrite the container's header;
  /// a contiguous frame is rewritten to a new file. EOPNOTSUPP if hard links forbid that. EPERM for
  /// metalayers that say what the frame is. EINVAL before the first commit of a new frame.
  virtual void set_metalayer(const std::string& name, codec::Bytes content) = 0;
  virtual bool remove_metalayer(const std::string& name) = 0;
  /// Sets the times that the container's file gets when it is published.
  virtual void set_times(const FileTimes& times) = 0;

  // --- commit, in steps, so that many containers can share the two flushes between the steps

  /// Lets the disk begin to write the chunks. The caller has put all chunks and will flush soon.
  virtual void begin_flush() = 0;
  /// Writes everything that is not written yet, to places that no committed state uses.
  virtual void write() = 0;
  /// True if write() has also moved chunks that the caller did not put. Positions of opened chunks
  /// are then out of date.
  virtual bool moves_chunks() const { return false; }
  /// Makes durable what write() wrote. After publish(), makes the published state durable.
  virtual void flush() = 0;
  /// Replaces flush() if the caller has made everything durable by other means, such as syncfs(2).
  virtual void flushed() = 0;
  /// Returns false if publish() cannot succeed: write() has made a new file, and since then
  /// FrameWriter::moved() has named another directory. The caller then makes the changes again in a
  /// new transaction.
  virtual bool can_publish() const { return true; }
  /// Makes readers find the new state. A new container is complete before readers can find it.
  /// Returns the stamp of the file that holds the state now, even if its name leads to another
  /// file.
  virtual FileStamp publish() = 0;
  /// Ends the flushed transaction and returns the new state. The next transaction may begin.
  virtual std::shared_ptr<const Snapshot> finish() = 0;

  /// Runs all steps.
  std::shared_ptr<const Snapshot> commit() {
    write();
    flush();
    publish();
    flush();
    return finish();
  }
};

}  // namespace bloscfs::frame::inline container
