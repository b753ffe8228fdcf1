#pragma once
// What a content asks of its Source: where it is stored, under which name it shall be, and what to
// do when another program has changed the file.

#include <functional>
#include <memory>
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
