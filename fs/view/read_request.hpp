#pragma once
// One request for contents: what it may cost, and what it has at hand of the index.

#include <cstdint>
#include <memory>

#include "frame/container/snapshot.hpp"
#include "fs/view/work.hpp"

namespace bloscfs::fs {

/// For one thread, and one FrameReader, which begins it.
class ReadRequest {
 public:
  /// `work_limit` as Work's.
  ReadRequest(Request& request, std::int64_t work_limit) : work_(request, work_limit) {}
  Work& work() { return work_; }
  // NOLINTNEXTLINE(google-explicit-constructor): what reads waits and takes memory for the request.
  operator Request&() const { return work_.request(); }

 private:
  friend class IndexReader;
  Work work_;
  std::shared_ptr<const frame::ChunkMap> map_;
  std::shared_ptr<const frame::IndexPage> page_;  ///< the last one that was needed
};

}  // namespace bloscfs::fs
