#pragma once
// One commit of one file's content, in steps that let many files share two flushes.

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
  /// Durable, by flushes of its own.
  alone,
  /// Durable, by flushes that many files share.
  grouped,
  /// Encodes what a new file holds into its temporary, which nothing but a later durable commit
  /// makes a file of SOURCE: needs no flush, and makes room in memory. Takes what comes first
  /// where much was written.
  staged,
};

/// The steps are write(), flush(), publish(), flush() and finish(), or stage() alone. A step out of
/// order throws std::logic_error. Each step returns what is to be done next. When that is not
/// Next::go_on, or the step throws, the caller destroys the commit, and what was written stays
/// dirty. One thread at a time; the one that began the commit ends it, and has its locks.
///
/// | state    | what holds                               | next      | left by an early end     |
/// |----------|------------------------------------------|-----------|--------------------------|
/// | begun    | the content is frozen                    | write()   | the old state            |
/// | written  | the new state is where no reader looks   | flush()   | the old state            |
/// | flushed  | that is durable                          | publish() | the old state            |
/// | switched | readers find it in the same container    | flush()   | the old state, as far as |
/// |          |                                          |           | it can be restored       |
/// | named    | a complete container has the name, which | flush()   | either: the next commit  |
/// |          | a power cut may take away                |           | reads the file again     |
/// | durable  | a power cut leaves the new state         | finish()  | as before this flush()   |
/// | finished | the content has adopted the new state    |           |                          |
///
/// publish() leads to `switched` where the file's container was edited. It leads to `named` where a
/// complete container gets the name: a new one, or the temporary that the file was staged in.
/// stage() goes from `written` to `durable` without a flush: a crash loses a staged file anyway.
class ContentCommit {
 public:
  /// Freezes the content, unless another thread commits it. See begun().
  ContentCommit(std::shared_ptr<Content> content, CommitKind kind);
  ~ContentCommit();
  ContentCommit(const ContentCommit&) = delete;
  ContentCommit& operator=(const ContentCommit&) = delete;

  const std::shared_ptr<Content>& content() const { return frozen_.content(); }
  /// The content's when this began.
  std::uint64_t epoch() const { return frozen_.facts().epoch; }
  /// go_on, nothing, or wait_for_thread. Unless go_on no further call is allowed.
  Next begun() const;

  /// All of a commit that is staged.
  Next stage();
  /// Encodes and writes everything to where no committed state reaches. retry_alone where that
  /// would take long, and others wait for it.
  Next write();
  /// Makes durable what write(), and later what publish() did.
  Next flush();
  /// In place of flush(), after everything was made durable by other means.
  Next flushed();
  /// Makes the new state the file's, by the name that it has now. retry if it got one since write()
  /// that asks for another representation, or for another directory than the new frame is in.
  Next publish();
  /// After the second flush: readers use the new state.
  Next finish();

 private:
  enum class State { begun, written, flushed, switched, named, durable, finished };
  /// What write() has made.
  struct Written {
    std::unique_ptr<frame::Transaction> transaction;
    FilledChunks chunks;
    /// Stamp of the temporary that the file was staged in, whose state is published as soon as it
    /// is written.
    std::optional<frame::FileStamp> temporary;
  };
  /// A name that the file has got, or may have got, and that is to be made durable.
  struct GivenName {
    std::shared_ptr<frame::StoreDirectory> directory;
    std::string name;
    struct OwnName {
      frame::FileId made;
      std::string full_name;
    };
    std::optional<OwnName> own_name = {};  ///< that the file is to get yet
  };

  void expect(State state) const;
  /// True of the first flush, false of the second one.
  bool is_first_flush() const;
  /// Decides where what is committed goes, and opens or makes that.
  Next prepare(const StoredPlace& place);
  bool takes_long(const Representation& chosen) const;
  void create(frame::FrameSettings settings, ShownAs shown, const StoredPlace& chosen);
  frame::FrameWriter& writer() {
    return new_container_ ? new_container_->writer() : *frozen_.writer();
  }
  FilledChunks fill(frame::Transaction& transaction);
  void change_metalayers(frame::Transaction& transaction);
  void write_transaction(frame::Transaction& transaction);
  frame::FileStamp publish_temporary();

  ShownAs shown() const { return new_container_ ? new_container_->shown() : ShownAs::flat; }
  /// What the file is to be stored as. In an object store it was made under that name, and is there
  /// before it is given.
  std::string name_to_give(NameLock& name_lock) const;
  const std::string& name_of(const RepresentationNames& names) const {
    return shown() == ShownAs::array ? names.array : names.flat;
  }
  std::unique_ptr<NameLock> lock_to_publish();
  /// Brings the writer to where the file is by now. Returns the name that the state is stored
  /// under; nothing where the file is in another directory now.
  std::optional<std::string> follow_rename(const StoredPlace& place);
  void publish_in_place(NameLock& name_lock, const frame::FileStamp& stamp);
  Next give_name(NameLock& name_lock, const std::string& stored_as, const frame::FileStamp& stamp);
  void take_own_name();
  void keep_named_state() noexcept;

  const CommitKind kind_;
  Request request_;  ///< on the account of who has written; of the thread that runs a step
  Content::Frozen frozen_;
  State state_ = State::begun;
  std::optional<NewContainer> new_container_;  ///< none: the file's container is edited
  Written written_;
  std::optional<GivenName> given_;
};

}  // namespace bloscfs::fs
