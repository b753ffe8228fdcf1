#pragma once
// What a mount lends to its Source, and to what the Source opens.

#include <atomic>
#include <exception>
#include <functional>
#include <string>

#include "fs/commit/committer.hpp"
#include "fs/content/content.hpp"
#include "fs/content/readahead.hpp"
#include "fs/source/node.hpp"
#include "fs/support/once_log.hpp"

namespace bloscfs::fs {

class Contents;

/// Has the kernel forget what it keeps of a file. Set before the first request.
struct KernelCache {
  /// Pages. `done` is called, from any thread, when the kernel has written what was changed in
  /// them, and has nothing any more.
  std::function<void(NodeId, std::function<void()> done)> forget_pages =
      [](NodeId, const std::function<void()>& done) { done(); };
  std::function<void(NodeId)> forget_attributes = [](NodeId) {};
};

/// What a mount lends to its Source, to contents and to their handles. Outlives their last use.
struct SourceServices {
  const ContentServices& content;
  ReadaheadBudget& readahead;
  OnceLog& log;
  const std::atomic<int>& direct_handles;  ///< open with O_DIRECT
  Committer& committer;
  Contents& contents;
  const KernelCache& kernel;

  void log_bad_data(const Request& request, const std::string& told_path,
                    const std::exception& error) const;
};

inline void SourceServices::log_bad_data(const Request& request, const std::string& told_path,
                                         const std::exception& error) const {
  log.error(request.user(), told_path + ": " + error.what());
}

}  // namespace bloscfs::fs
