#include "fs/encoding/stale_indexes.hpp"

#include <cerrno>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/python/python_indexes.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/view/metalayer_changes.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {

std::optional<std::vector<std::uint8_t>> read_index_metadata(const frame::Snapshot& snapshot,
                                                             const std::string& name) {
  const auto entry = find_layer(snapshot, {LayerKind::variable, name});
  if (!entry) return std::nullopt;
  return snapshot.read_vlmetalayer(*entry, frame::kMaxIndexMetadata, thread_decoder());
}

void require_markable_indexes(const frame::Snapshot& array) {
  try {
    if (const auto indexes = read_index_metadata(array, frame::kArrayIndexesLayer))
      frame::stale_array_indexes(*indexes);
  } catch (const codec::Error& error) {
    frame::throw_errno(EROFS, fmt::format("read-only, since its indexes cannot be marked stale: {}",
                                          error.what()));
  }
}

void mark_array_indexes(const frame::Snapshot& array, frame::Transaction& transaction) {
  if (const auto indexes = read_index_metadata(array, frame::kArrayIndexesLayer))
    if (const auto stale = frame::stale_array_indexes(*indexes))
      transaction.set_vlmetalayer(frame::kArrayIndexesLayer, *stale);
  transaction.remove_vlmetalayer(frame::kQueryCacheLayer);
}

bool depends_on_values(const std::string& vlmetalayer) {
  return vlmetalayer == frame::kArrayIndexesLayer || vlmetalayer == frame::kQueryCacheLayer;
}

}  // namespace bloscfs::fs
