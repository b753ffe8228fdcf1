#pragma once
// One commit of one file's content, in steps that let many files share two flushes.

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "frame/store/throw_errno.hpp"
#include "fs/commit/chunk_filler.hpp"
#include "fs/commit/new_container.hpp"
#include "fs/commit/representation.hpp"
#include "fs/content/frozen.hpp"

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

/// A commit that ends early, by an exception or by destruction, leaves what was written dirty. The
/// steps are write, flush, publish, flush, finish, or stage alone; in another order they throw
/// std::logic_error. One thread at a time; the one that began it ends it, and has its locks.
///
/// | state    | what holds                               | next      | left by an early end  |
/// |----------|------------------------------------------|-----------|-----------------------|
/// | begun    | the content is frozen                    | write()   | the file as it was    |
/// | written  | the new state is where no reader looks   | flush()   | the same              |
/// | flushed  | that is durable                          | publish() | the same              |
/// | switched | readers find it in the same container    | flush()   | as the transaction    |
/// | named    | the file has another, durable container; | flush()   | the next commit reads |
/// |          | its name need not be durable             |           | the file again        |
/// | durable  | a power cut leaves the new state         | finish()  | as the state before   |
/// | finished | the content has adopted the new state    |           | the new state         |
///
/// publish() leads to `switched` where the file's container was edited, and to `named` where a
/// complete one gets the name: a new one, or the temporary that the file was staged in. stage()
/// goes from `written` to `durable`: no power cut is to be outlasted.
class ContentCommit {
 public:
  /// Freezes the content: errors as Content::freeze's.
  ContentCommit(std::shared_ptr<Content> content, CommitKind kind);
  ~ContentCommit();
  ContentCommit(const ContentCommit&) = delete;
  ContentCommit& operator=(const ContentCommit&) = delete;

  const std::shared_ptr<Content>& content() const { return frozen_.content(); }
  /// The content's when this began.
  std::uint64_t epoch() const { return frozen_.facts().epoch; }
  /// True if there is nothing to commit; then no further call is needed.
  bool empty() const { return frozen_.empty(); }

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
  void prepare(const StoredPlace& place);
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
  /// under.
  std::string follow_rename(const StoredPlace& place);
  void publish_in_place(NameLock& name_lock, const frame::FileStamp& stamp);
  void give_name(NameLock& name_lock, const std::string& stored_as, const frame::FileStamp& stamp);
  void take_own_name();
  void keep_named_state() noexcept;

  const CommitKind kind_;
  Content::Frozen frozen_;
  State state_ = State::begun;
  std::optional<NewContainer> new_container_;  ///< none: the file's container is edited
  Written written_;
  std::optional<GivenName> given_;
};

}  // namespace bloscfs::fs
