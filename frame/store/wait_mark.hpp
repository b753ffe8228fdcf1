#pragma once
// What a thread waits for, so that others can be told why something takes long.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace bloscfs::frame::inline store {

enum class WaitReason : std::uint8_t {
  nothing,
  turn,           ///< others of the same user are served
  network,        ///< an answer, or a free connection
  other_program,  ///< has the file, or its sidecar, locked
  commit,         ///< of the same file, by another thread
  room,           ///< for what is not committed yet
  memory,         ///< for large work
  other_request,  ///< makes what this one needs, too
  disk,           ///< that what was written is durable
  kernel,         ///< hands over, or forgets, what it knows of the file
};

/// In words, for people and programs: "network"; empty for `nothing`.
const char* name_of(WaitReason reason);

/// What a piece of work waits for just now. One thread at a time works at it, and any may look.
struct WaitState {
  std::atomic<WaitReason> reason{WaitReason::nothing};
  std::atomic<std::chrono::steady_clock::rep> since{0};  ///< what the clock counts

  void begin(WaitReason what);
};

/// While one lives, what its thread works at waits for `reason`. The innermost one counts. Free
/// where nobody has said what the thread works at.
class WaitMark {
 public:
  explicit WaitMark(WaitReason reason);
  ~WaitMark();
  WaitMark(const WaitMark&) = delete;
  WaitMark& operator=(const WaitMark&) = delete;

  /// What the thread works at from here on, null for what nobody asks about; returns what it was
  /// before. Not to be called while the thread waits.
  static WaitState* work_at(WaitState* work);

 private:
  WaitReason before_ = WaitReason::nothing;
  std::chrono::steady_clock::rep before_since_ = 0;
};

}  // namespace bloscfs::frame::inline store
