#pragma once
// What a commit takes out of a content to store it, and the right to be its only commit meanwhile.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fs/content/content.hpp"
#include "fs/content/frozen_bytes.hpp"

namespace bloscfs::fs {

/// Holds commit_mutex_. Its end lays the frozen layer under the live one again, unless it was
/// adopted. All calls on one thread, and none but content(), empty() and facts() where it is empty.
class Content::Frozen {
 public:
  Frozen(Frozen&&) = default;
  ~Frozen();

  const std::shared_ptr<Content>& content() const { return content_; }
  /// False where another thread has the content: then only content() and empty() are allowed.
  bool has_lock() const { return lock_.owns_lock(); }
  /// True if there is nothing to commit.
  bool empty() const { return bytes_.layer == nullptr; }

  /// The content when it was frozen, and what earlier commits have left.
  struct Facts {
    std::uint64_t epoch = 0;
    std::optional<timespec> accessed;
    timespec modified{};
    bool is_staged = false;   ///< never committed, but its temporary holds a state
    bool is_unknown = false;  ///< a commit failed, and nobody knows which state is stored
    bool changes_values = false;
    bool is_held_flat = false;
    bool look_is_due = false;  ///< whether it is to be an array, or flat
  };
  const Facts& facts() const { return facts_; }
  /// The file as it is committed. Only adopt() and reopen() replace the view.
  const FrozenBytes& bytes() const { return bytes_; }
  const ContentServices& services() const { return content_->services_; }
  ContentHome& home() const { return *home_; }

  /// What changes the committed container; null before the first commit, and before need_writer().
  frame::FrameWriter* writer() const;
  /// Opens it again where the content went on from another state.
  void need_writer(const StoredPlace& place);
  /// After a commit that failed half-way: goes on from what is stored, which it may have replaced.
  void reopen(Request& request, const StoredPlace& place);
  /// Before a transaction that leaves no contents.
  void make_room_to_empty(Request& request);
  /// So many bytes of what waits are stored, so that others may be written.
  void count_stored(std::size_t bytes);

  /// What a commit has made of it.
  struct Stored {
    std::shared_ptr<const frame::Snapshot> snapshot;
    bool is_current = true;  ///< else another program has changed the file by now
    std::unique_ptr<frame::FrameWriter> writer;  ///< of another container; null: it is the same
    std::vector<std::int64_t> changed_chunks;
    bool drops_chunks = false;  ///< some were cut off, though others may have been added again
    bool moves_chunks =
        false;  ///< some are stored elsewhere now, though their contents are the same
  };
  /// The content's state from now on. A new file counts as committed, unless it was staged only.
  void adopt(Request& request, Stored stored);
  /// To be called where a commit ends without that and may have replaced what is stored.
  void replaced_perhaps() { facts_.is_unknown = true; }

 private:
  friend class Content;

  Frozen(std::shared_ptr<Content> content, Freeze freeze);
  void take();
  void give_back();
  /// Drops what the cache has of changed chunks. True if the rest of it is that of the new state,
  /// which is in the same container.
  bool forget_changed(Request& request, const Stored& stored) const;
  /// Readers get the stored state from now on. The frozen layer stays.
  void read_stored(Request& request, Stored stored);
  /// Readers get the state that the writer has made, of the same contents.
  void read_moved(Request& request);
  /// Makes a container shorter that has become too long with this commit.
  void tidy_container(Request& request);

  std::shared_ptr<Content> content_;
  std::unique_lock<Mutex> lock_;  ///< of commit_mutex_
  Freeze freeze_;
  ContentHome* home_ = nullptr;  ///< stays while the lock is held
  Facts facts_;
  FrozenBytes bytes_;  ///< without a layer when nothing is frozen
};

}  // namespace bloscfs::fs
