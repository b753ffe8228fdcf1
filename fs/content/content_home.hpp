#pragma once
// What a content asks of its Source: where it is stored, under which name it shall be, and what to
// do when another program has changed the file.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "frame/container/snapshot.hpp"
#include "fs/content/name_lock.hpp"
#include "fs/content/takeover.hpp"

namespace bloscfs::fs {

class Request;

/// Thread-safe. Lives at least as long as the content, and keeps its node.
class ContentHome {
 public:
  ContentHome() = default;
  virtual ~ContentHome() = default;
  ContentHome(const ContentHome&) = delete;
  ContentHome& operator=(const ContentHome&) = delete;

  /// Path below SOURCE that the file has or waits for; empty where it has none.
  virtual std::string path() = 0;
  /// The lock is a part of the request, and ends before it.
  virtual std::unique_ptr<NameLock> lock_name(Request& request) = 0;
  /// The same, before another file takes the place of the stored one, or before give_name(). First
  /// it makes removals durable: after a power cut an old file must not come back under the new
  /// name. Where that takes long the lock is not held meanwhile. `choose` returns the name that
  /// give_name() will get, nullopt if the name stays as it is. It is called with the lock, perhaps
  /// several times.
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
  /// Gives the file `made`, which give_name() has placed under another name, its own one,
  /// `full_name`, when that placing is durable. It keeps the name that it has where that cannot be.
  /// ESTALE where another program's file was in its place.
  virtual std::unique_ptr<NameLock> take_own_name(Request& request, const frame::FileId& /*made*/,
                                                  const std::string& /*full_name*/) {
    return lock_name(request);
  }
  /// True if it could be stored as an array.
  virtual bool has_array_name(Request& request) {
    return !lock_name(request)->names().array.empty();
  }
  /// Where it is at this moment: for those who find out by themselves that it has moved since.
  virtual StoredPlace place_now(Request& request) { return lock_name(request)->place(); }
  virtual Takeover& takeover() = 0;

  /// Before the file is opened for writing. Throws EROFS, saying why, where other files keep
  /// indexes of its values (fs/source/local/names/protected_columns.hpp).
  virtual void require_changeable(Request& /*request*/) {}
  /// A commit is durable, and has left that state.
  virtual void committed(const frame::Snapshot& /*snapshot*/) {}

  /// Has the kernel forget what it keeps of the contents. `done` is called, from any thread, when
  /// it has written what was changed in it, and has nothing any more.
  virtual void forget_pages(std::function<void()> done) = 0;
  /// Has the kernel forget the attributes that it keeps of the file: a commit has changed them.
  virtual void forget_attributes() {}
};

}  // namespace bloscfs::fs
