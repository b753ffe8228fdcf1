#pragma once
// One read request: its work limit, and the parts of the index that it has read.

#include <cstdint>
#include <memory>

#include "frame/container/snapshot.hpp"
#include "fs/view/work.hpp"

namespace bloscfs::fs {

/// For one thread and one FrameReader, which makes it.
class ReadRequest {
 public:
  /// For `work_limit` see Work.
  ReadRequest(Request& request, std::int64_t work_limit) : work_(request, work_limit) {}
  Work& work() { return work_; }
  // NOLINTNEXTLINE(google-explicit-constructor): readers wait and take memory for the request.
  operator Request&() const { return work_.request(); }

 private:
  friend class IndexReader;
  Work work_;
  std::shared_ptr<const frame::ChunkMap> map_;
  std::shared_ptr<const frame::IndexPage> page_;  ///< the last one that was needed
};

}  // namespace bloscfs::fs
