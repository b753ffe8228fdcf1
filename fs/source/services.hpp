#pragma once
// The services that a mount provides to its Source and to what the Source opens.

#include <atomic>
#include <exception>
#include <functional>
#include <string>

#include "codec/error.hpp"
#include "fs/commit/committer.hpp"
#include "fs/content/content.hpp"
#include "fs/content/readahead.hpp"
#include "fs/source/node.hpp"
#include "fs/support/once_log.hpp"

namespace bloscfs::fs {

class Contents;

/// Asks the kernel to drop what it caches of a file. Set before the first request.
struct KernelCache {
  /// Drops cached pages. `done` is called, from any thread, once the kernel has written back its
  /// changed pages and has no page any more.
  std::function<void(NodeId, std::function<void()> done)> forget_pages =
      [](NodeId, const std::function<void()>& done) { done(); };
  std::function<void(NodeId)> forget_attributes = [](NodeId) {};
};

/// The services that a mount provides to its Source, to contents and to their handles. They outlive
/// their last use.
struct SourceServices {
  const ContentServices& content;
  ReadaheadBudget& readahead;
  OnceLog& log;
  const std::atomic<int>& direct_handles;  ///< handles that are open with O_DIRECT
  Committer& committer;
  Contents& contents;
  const KernelCache& kernel;

  void log_bad_data(const Request& request, const std::string& display_path,
                    const std::exception& error) const;
};

inline void SourceServices::log_bad_data(const Request& request, const std::string& display_path,
                                         const std::exception& error) const {
  const auto* const failure = dynamic_cast<const codec::Error*>(&error);
  const bool is_damaged = failure != nullptr && failure->code() == codec::FormatErrc::malformed;
  log.error(request.user(), display_path + ": " + error.what() +
                                (is_damaged ? "; b2frame repair saves what is intact" : ""));
}

}  // namespace bloscfs::fs
