#pragma once
// Shared libraries that are loaded when they are first called: libcurl brings thirty others, and
// all together would take longer than most commands that need none of them.

#include <atomic>

namespace bloscfs::codec {

/// Thread-safe. Stays loaded until the process ends.
class LateLibrary {
 public:
  /// `name` as the loader knows it, with the version that the headers are of.
  explicit constexpr LateLibrary(const char* name) : name_(name) {}
  /// Where files can be opened no more afterwards. Throws std::runtime_error that names it.
  void load();
  /// Loads it before. Throws std::runtime_error where there is no such function.
  void* find(const char* function);

 private:
  const char* name_;
  std::atomic<void*> handle_{nullptr};
};

/// Is called as the function is.
template <typename Function>
class LateFunction {
 public:
  constexpr LateFunction(LateLibrary& library, const char* name) : library_(library), name_(name) {}
  operator Function*() {
    Function* function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(library_.find(name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function;
  }

 private:
  LateLibrary& library_;
  const char* name_;
  std::atomic<Function*> function_{nullptr};
};

}  // namespace bloscfs::codec
