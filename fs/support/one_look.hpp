#pragma once
// A stretch of a thread's work during which it only looks: what it has been told once holds until
// the end, and need not be asked again.

namespace bloscfs::fs {

/// While one lives. One within another is a part of that.
class OneLook {
 public:
  OneLook() { depth_++; }
  ~OneLook() {
    if (--depth_ == 0) asked_ = nullptr;
  }
  OneLook(const OneLook&) = delete;
  OneLook& operator=(const OneLook&) = delete;

  /// True where `whom` is to be asked: for the first time, or outside of any.
  static bool must_ask(const void* whom) {
    if (depth_ == 0) return true;
    if (asked_ == whom) return false;
    asked_ = whom;
    return true;
  }
  /// The thread has changed something, or let others do so.
  static void renew() { asked_ = nullptr; }

 private:
  static inline thread_local int depth_ = 0;
  static inline thread_local const void* asked_ = nullptr;
};

}  // namespace bloscfs::fs
