#pragma once
// One commit of one file's content, in steps that let many files share two flushes.

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "frame/store/throw_errno.hpp"
#include "fs/content/content.hpp"
#include "fs/content/patient_lock.hpp"
#include "fs/encoding/chunk_recoder.hpp"

namespace bloscfs::fs {

enum class CommitKind {
  /// Durable, by flushes of its own.
  alone,
  /// Durable, by flushes that many files share.
  grouped,
  /// Encodes what a new file holds into its temporary, which nothing but a later durable commit
  /// makes a file of SOURCE: needs no flush, and makes room in memory. Takes what comes first
  /// where much was written.
  staged,
};

/// A commit that shares its flushes would take so long that it had better be made alone.
class LongCommit : public std::system_error {
 public:
  explicit LongCommit(const std::string& name)
      : std::system_error(frame::errno_code(EAGAIN), name) {}
};

/// A commit that ends early, by an exception or by destruction, leaves what was written dirty.
/// All calls on one thread.
class ContentCommit {
 public:
  /// Waits for another commit of the content, and takes what has been written until now. Throws
  /// frame::LockedByOthers where the thread waits for nothing.
  explicit ContentCommit(std::shared_ptr<Content> content, CommitKind kind);
  ~ContentCommit();
  ContentCommit(const ContentCommit&) = delete;
  ContentCommit& operator=(const ContentCommit&) = delete;

  const std::shared_ptr<Content>& content() const { return content_; }
  /// The content's when this began.
  std::uint64_t epoch() const { return epoch_; }
  /// True if there is nothing to commit; then no further call is needed.
  bool empty() const { return empty_; }

  /// All of a commit that is staged.
  void stage();
  /// Encodes and writes everything to where no committed state reaches. Throws LongCommit.
  void write();
  /// Makes durable what write(), and later what publish() did.
  void flush();
  /// In place of flush(), after everything was made durable by other means.
  void flushed();
  /// Makes the new state the file's, by the name that it has now. EAGAIN if it got one since
  /// write() that asks for another representation, or for another directory than the new frame is
  /// in: then it is to be committed again.
  void publish();
  /// After the second flush: readers use the new state.
  void finish();

 private:
  /// A part of a chunk that has changed: bytes, or zeros where null.
  struct Change {
    std::int64_t chunk_offset;
    std::int64_t size;
    const std::uint8_t* bytes;
  };
  using Changes = std::vector<Change>;

  /// The file as this commit makes it.
  void read(std::int64_t offset, codec::MutableBytes out) const;
  std::vector<std::uint8_t> read_start(std::size_t size) const;

  /// How the contents can be stored as an array under the name that they shall have.
  std::optional<frame::FrameSettings> as_array() const;
  /// True if the committed array still stands for the same NPY file but for elements.
  bool keeps_array() const;
  bool can_edit() const;
  bool can_be_array() const;
  bool takes_long() const;
  /// Sets new_frame_ where the container is written anew.
  void choose(const StoredPlace& place);
  /// Decides where what is committed goes, and opens or makes that.
  void prepare(const StoredPlace& place);
  /// After a commit that failed half-way: goes on from what is stored, which it may have replaced.
  void reopen(const StoredPlace& place);
  void create(const StoredPlace& chosen);
  std::unique_ptr<ContentHome::NameLock> lock_to_publish();
  void keep_named_state() noexcept;
  void remove_created();
  /// Fixed metalayers as this commit leaves them, but for those that say what the frame is.
  std::vector<frame::Metalayer> kept_metalayers() const;
  bool changed_metalayer(const LayerName& name) const;
  void change_metalayers();
  void copy_vlmetalayers();

  std::shared_ptr<void> take_working_memory() const;
  void fill();
  void fill_flat();
  void fill_array(const frame::ArrayInfo& array);
  void edit_flat();
  void edit_array();
  std::set<std::int64_t> touched_chunks() const;
  void add_zeroed(const codec::ByteRange& range, std::set<std::int64_t>& touched) const;
  bool ends_within_item(const codec::ByteRange& range) const;
  codec::ByteRange chunk_range(std::int64_t chunk, std::int64_t frame_size) const;
  /// A chunk that is a range of the file.
  void add_whole_chunk(std::int64_t chunk, const codec::ByteRange& range);
  void add_changed_chunk(std::int64_t chunk, std::int64_t size, Changes changes);
  codec::EncodedSize encode_changed(codec::ChunkEncoder& encoder, std::int64_t chunk,
                                    std::int64_t size, const Changes& changes,
                                    codec::MutableBytes out) const;
  std::vector<std::uint8_t> merged(std::int64_t chunk, const codec::ByteRange& range,
                                   const Changes& changes) const;
  void put(std::span<const RecodedChunk> run);

  std::shared_ptr<Content> content_;
  const PatientLock commit_lock_;
  const CommitKind kind_;
  // What is below the changes. Only a commit replaces it, so this one reads it without a lock.
  const FileView* view_ = nullptr;
  std::shared_ptr<const frame::Snapshot> snapshot_;
  const Content::Layer* layer_ = nullptr;
  std::shared_ptr<frame::StoreDirectory> created_in_;  ///< where a temporary of this commit is
  bool drops_chunks_ = false;  ///< cut off, though others may have been added again
  bool empty_ = false;
  std::uint64_t epoch_ = 0;
  frame::FileStamp published_;  ///< of the file that holds the new state
  bool reopens_ = false;        ///< an earlier commit failed, and nobody knows what it left
  bool is_named_ = false;       ///< this one may have given its file the name
  bool finished_ = false;
  bool was_staged_ = false;            ///< the file's temporary holds a state already
  bool is_temporary_ready_ = false;    ///< it has got this commit's state, and not yet its name
  bool is_temporary_durable_ = false;  ///< what the temporary got is durable
  std::int64_t size_ = 0;              ///< of the file, as it is committed
  std::optional<timespec> accessed_, modified_;
  bool held_flat_ = false;
  bool changes_values_ = false;
  bool is_announced_ = false;                      ///< those who must know of that do
  bool look_for_array_ = false;                    ///< nobody has the file open for writing
  std::optional<frame::FrameSettings> new_frame_;  ///< set when the container is written anew
  std::unique_ptr<frame::FrameWriter> new_writer_;
  std::string stored_as_;  ///< name of the file that the new container is in
  /// Where a new name is to be made durable.
  std::shared_ptr<frame::StoreDirectory> directory_to_sync_;
  bool is_array_ = false;  ///< what the new container is
  std::unique_ptr<frame::Transaction> transaction_;
  std::unique_ptr<ChunkRecoder> recoder_;
  std::vector<std::int64_t> changed_chunks_;
};

}  // namespace bloscfs::fs
