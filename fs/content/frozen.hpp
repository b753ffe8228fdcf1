#pragma once
// The part of a content that a commit takes out to store it, and the right to be the content's only
// commit.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fs/content/content.hpp"
#include "fs/content/frozen_bytes.hpp"

namespace bloscfs::fs {

/// Holds commit_mutex_. The destructor puts the frozen layer back below the live one, unless
/// adopt() was called. All calls are made on one thread. If it is empty, only content(), empty()
/// and facts() may be called.
class Content::Frozen {
 public:
  Frozen(Frozen&&) = default;
  ~Frozen();

  const std::shared_ptr<Content>& content() const { return content_; }
  /// False if another thread is committing the content. Then only content() and empty() may be
  /// called.
  bool has_lock() const { return lock_.owns_lock(); }
  /// True if there is nothing to commit.
  bool empty() const { return bytes_.layer == nullptr; }

  /// The state of the content when it was frozen.
  struct Facts {
    std::uint64_t epoch = 0;
    std::optional<timespec> accessed;
    timespec modified{};
    bool is_staged = false;   ///< never committed, but its temporary holds a staged state
    bool is_unknown = false;  ///< a commit failed, and it is unknown which state is stored
    bool changes_values = false;
    bool is_forced_flat = false;
    bool must_choose_representation =
        false;  ///< this commit decides whether the file becomes an array or flat
  };
  const Facts& facts() const { return facts_; }
  /// The file's frozen bytes. Only adopt(), reopen() and prepare_to_empty() replace the view.
  const FrozenBytes& bytes() const { return bytes_; }
  const ContentServices& services() const { return content_->services_; }
  ContentHome& home() const { return *home_; }

  /// Returns the writer of the committed container; null before the first commit, and before
  /// ensure_writer().
  frame::FrameWriter* writer() const;
  /// Opens the writer if the content went on from another state and closed it.
  void ensure_writer(const StoredPlace& place);
  /// To be called after a commit that failed half-way. Opens the stored file again, which that
  /// commit may have replaced.
  void reopen(Request& request, const StoredPlace& place);
  /// To be called before a transaction that removes all contents. May move chunks in the committed
  /// container, to make room for the trailer of the empty frame.
  void prepare_to_empty(Request& request);
  /// Records that `bytes` of the dirty bytes are stored, so that writers may write as many.
  void count_stored(std::size_t bytes);

  /// The result of a commit.
  struct Stored {
    std::shared_ptr<const frame::Snapshot> snapshot;
    bool is_current = true;  ///< false: another program has changed the file since
    std::unique_ptr<frame::FrameWriter> writer;  ///< of a new container; null: the container is the
                                                 ///< same
    std::vector<std::int64_t> changed_chunks;
    bool drops_chunks = false;  ///< some were cut off, even if the file grew again
    bool moves_chunks = false;  ///< some unchanged chunks are stored elsewhere now
  };
  /// Makes the stored state the content's committed state. A new file then counts as committed,
  /// unless it was only staged.
  void adopt(Request& request, Stored stored);
  /// To be called if a commit may have replaced the stored state, but ends without adopt().
  void mark_stored_state_unknown() { facts_.is_unknown = true; }

 private:
  friend class Content;

  Frozen(std::shared_ptr<Content> content, Freeze freeze);
  void take();
  void give_back();
  /// Drops changed chunks from the cache. Returns true if the rest of the cached data is valid for
  /// the new state, which is in the same container.
  bool forget_changed(Request& request, const Stored& stored) const;
  /// Makes readers use the stored state. The frozen layer stays.
  void read_stored(Request& request, Stored stored);
  /// Makes readers use the writer's state, which has the same contents in other places.
  void read_moved(Request& request);
  /// Shortens a container that this commit has made too long.
  void shorten_container(Request& request);

  std::shared_ptr<Content> content_;
  std::unique_lock<Mutex> lock_;  ///< of commit_mutex_
  Freeze freeze_;
  ContentHome* home_ = nullptr;  ///< does not change while the lock is held
  Facts facts_;
  FrozenBytes bytes_;  ///< without a layer while nothing is frozen
};

}  // namespace bloscfs::fs
