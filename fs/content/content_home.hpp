#pragma once
// The interface through which a content asks its Source where it is stored, which name it is to
// have, and what to do when another program has changed the file.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "frame/container/snapshot.hpp"
#include "fs/content/name_lock.hpp"
#include "fs/content/takeover.hpp"

namespace bloscfs::fs {

class Request;

/// Thread-safe. Outlives the content, and keeps the node of its file.
class ContentHome {
 public:
  ContentHome() = default;
  virtual ~ContentHome() = default;
  ContentHome(const ContentHome&) = delete;
  ContentHome& operator=(const ContentHome&) = delete;

  /// Returns the path below SOURCE that the file has or is to get; empty if it has none.
  virtual std::string path() = 0;
  /// Takes the lock on names. The result uses `request`, which must outlive it.
  virtual std::unique_ptr<NameLock> lock_name(Request& request) = 0;
  /// Takes the lock on names before a new file replaces the stored one, or before give_name().
  /// First makes removals durable: after a power cut, an old file must not come back under the new
  /// name. A long removal is done without the lock. `choose` returns the name that give_name() will
  /// give, or nullopt if the name stays. It is called with the lock held, perhaps several times.
  struct ChosenName {
    std::string full_name;
    ShownAs shown;
  };
  using ChooseName = std::function<std::optional<ChosenName>(NameLock& lock)>;
  virtual std::unique_ptr<NameLock> lock_to_replace(Request& request, const ChooseName& choose) {
    auto lock = lock_name(request);
    if (const auto name = choose(*lock)) lock->before_giving_name(name->full_name, name->shown);
    return lock;
  }
  /// Gives the file `made` its own name, `full_name`. give_name() has placed the file under another
  /// name, and that is durable already. If the rename is not possible, the file keeps its name.
  /// Throws ESTALE if another program's file was in its place.
  virtual std::unique_ptr<NameLock> take_final_name(Request& request, const frame::FileId& /*made*/,
                                                    const std::string& /*full_name*/) {
    return lock_name(request);
  }
  /// True if the file's name allows that it is stored as an array.
  virtual bool has_array_name(Request& request) {
    return !lock_name(request)->names().array.empty();
  }
  /// Returns the present place without keeping the lock. Callers must notice themselves if the file
  /// moves.
  virtual StoredPlace place_now(Request& request) { return lock_name(request)->place(); }
  virtual Takeover& takeover() = 0;

  /// To be called before the file is opened for writing. Throws EROFS with a reason if other files
  /// keep indexes of its values (fs/source/local/names/protected_columns.hpp).
  virtual void require_changeable(Request& /*request*/) {}
  /// Called after a durable commit, with the state that it left.
  virtual void committed(const frame::Snapshot& /*snapshot*/) {}

  /// Makes the kernel drop its cached pages of the file. Calls `done`, from any thread, after the
  /// kernel has written back its dirty pages and dropped all of them.
  virtual void forget_pages(std::function<void()> done) = 0;
  /// Makes the kernel drop its cached attributes of the file, since a commit has changed them.
  virtual void forget_attributes() {}
};

}  // namespace bloscfs::fs
