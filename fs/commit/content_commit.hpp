#pragma once
// Commits the content of one file, in steps, so that many files can share two flushes.

#include <memory>
#include <optional>
#include <string>

#include "fs/commit/chunk_filler.hpp"
#include "fs/commit/commit_outcome.hpp"
#include "fs/commit/new_container.hpp"
#include "fs/commit/representation.hpp"
#include "fs/content/frozen.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

enum class CommitKind {
  /// Durable, by its own flushes.
  alone,
  /// Durable, by flushes that many files share.
  grouped,
  /// Encodes a part of a new file's contents into its temporary to make room in memory. Needs no
  /// flush: the temporary becomes a file of SOURCE only by a later durable commit. If much was
  /// written, takes the first part.
  staged,
};

/// The steps are write(), flush(), publish(), flush() and finish(), or stage() alone. A step out of
/// order throws std::logic_error. Each step returns what to do next. If that is not Next::proceed,
/// or the step throws, the caller destroys the commit, and the written data stays dirty. One thread
/// uses the commit at a time. The thread that began it also destroys it, since it holds the locks.
///
/// | state    | what holds                               | next      | left by an early end     |
/// |----------|------------------------------------------|-----------|--------------------------|
/// | begun    | the content is frozen                    | write()   | the old state            |
/// | written  | the new state is stored where no reader  | flush()   | the old state            |
/// |          | looks                                    |           |                          |
/// | flushed  | that state is durable                    | publish() | the old state            |
/// | switched | readers find it in the same container    | flush()   | the old state, as far as |
/// |          |                                          |           | it can be restored       |
/// | named    | a complete container has the name, but   | flush()   | either: the next commit  |
/// |          | a power cut may undo that                |           | reads the file again     |
/// | durable  | a power cut leaves the new state         | finish()  | as before this flush()   |
/// | finished | the content has adopted the new state    |           |                          |
///
/// publish() leads to `switched` if the file's container was edited. It leads to `named` if a
/// complete container gets the name: a new one, or the temporary in which the file was staged.
/// stage() goes from `written` to `durable` without a flush: a crash loses a staged file anyway.
class ContentCommit {
 public:
  /// Freezes the content, unless another thread is committing it. See begun().
  ContentCommit(std::shared_ptr<Content> content, CommitKind kind);
  ~ContentCommit();
  ContentCommit(const ContentCommit&) = delete;
  ContentCommit& operator=(const ContentCommit&) = delete;

  const std::shared_ptr<Content>& content() const { return frozen_.content(); }
  /// The content's epoch when this commit began.
  std::uint64_t epoch() const { return frozen_.facts().epoch; }
  /// Returns proceed, nothing, or wait_for_thread. Steps may be called only after proceed.
  Next begun() const;

  /// Does all steps of a staged commit.
  Next stage();
  /// Encodes and writes everything to where no committed state refers to it. Returns retry_alone if
  /// that would take long and other commits of a batch would wait.
  Next write();
  /// Makes the data of write() or publish() durable.
  Next flush();
  /// To be called instead of flush() after the whole filesystem was made durable.
  Next flushed();
  /// Makes the new state the file's, under the file's present name. Returns retry if the file was
  /// renamed since write(), and its new name needs another representation, or its new directory
  /// does not hold the new container.
  Next publish();
  /// To be called after the second flush. Makes readers use the new state.
  Next finish();

 private:
  enum class State { begun, written, flushed, switched, named, durable, finished };
  /// The results of write().
  struct Written {
    std::unique_ptr<frame::Transaction> transaction;
    FilledChunks chunks;
    /// Stamp of the temporary in which the file was staged. write() publishes the new state in the
    /// temporary, which no reader sees.
    std::optional<frame::FileStamp> temporary;
  };
  /// A name that the file has got, or may have got, and that must be made durable.
  struct GivenName {
    std::shared_ptr<frame::StoreDirectory> directory;
    std::string name;
    struct FinalName {
      frame::FileId made;
      std::string full_name;
    };
    std::optional<FinalName> own_name = {};  ///< the name that the file is still to get
  };

  void expect(State state) const;
  /// True at the first flush, false at the second one.
  bool is_first_flush() const;
  /// Decides where the committed data goes, and opens or creates the container.
  Next prepare(const StoredPlace& place);
  bool takes_long(const Representation& chosen) const;
  void create(frame::FrameSettings settings, ShownAs shown, const StoredPlace& chosen);
  frame::FrameWriter& writer() {
    return new_container_ ? new_container_->writer() : *frozen_.writer();
  }
  FilledChunks fill(frame::Transaction& transaction);
  void change_metalayers(frame::Transaction& transaction);
  void write_transaction(frame::Transaction& transaction);
  Next publish_temporary();

  ShownAs shown() const { return new_container_ ? new_container_->shown() : ShownAs::flat; }
  /// Returns the name under which the file is to be stored. In an object store, the new container
  /// has it from the start.
  std::string name_to_give(NameLock& name_lock) const;
  const std::string& name_of(const RepresentationNames& names) const {
    return shown() == ShownAs::array ? names.array : names.flat;
  }
  std::unique_ptr<NameLock> lock_to_publish();
  /// Tells the writer the file's present directory and name. Returns the name under which the new
  /// state is stored; nullopt if the new state is in a file of another directory.
  std::optional<std::string> follow_rename(const StoredPlace& place);
  void publish_in_place(NameLock& name_lock, const frame::FileStamp& stamp);
  Next give_name(NameLock& name_lock, const std::string& stored_name,
                 const frame::FileStamp& stamp);
  void take_final_name();
  void keep_named_state() noexcept;

  const CommitKind kind_;
  Request request_;  ///< counts to the user who wrote; used by the thread that runs a step
  Content::Frozen frozen_;
  State state_ = State::begun;
  std::optional<NewContainer> new_container_;  ///< none: the file's container is edited
  Written written_;
  std::optional<GivenName> given_;
};

}  // namespace bloscfs::fs
