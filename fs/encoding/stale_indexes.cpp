#include "fs/encoding/stale_indexes.hpp"

#include <cerrno>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "frame/python/python_indexes.hpp"
#include "frame/store/throw_errno.hpp"
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

bool tells_of_values(const std::string& vlmetalayer) {
  return vlmetalayer == frame::kArrayIndexesLayer || vlmetalayer == frame::kQueryCacheLayer;
}

LayerChanges table_changes(const ReadVlmetalayer& read, const std::string& key) {
  LayerChanges changes;
  const auto kind = read(frame::kKindLayer);
  if (!kind || !frame::is_table_kind(*kind)) return changes;
  const auto change = [&](const char* layer, frame::ChangedContents contents) {
    if (contents)
      changes[{LayerKind::variable, layer}] =
          std::make_shared<const std::vector<std::uint8_t>>(std::move(*contents));
  };
  if (const auto catalog = read(frame::kIndexCatalogLayer))
    change(frame::kIndexCatalogLayer, frame::stale_index_catalog(*catalog));
  const auto schema = key.empty() ? std::nullopt : read(frame::kSchemaLayer);
  if (schema) change(frame::kSchemaLayer, frame::stale_generated_columns(*schema, key));
  const auto count = [&](const char* layer) {
    const auto epoch = read(layer);
    change(layer, frame::next_epoch(epoch ? codec::Bytes(*epoch) : codec::Bytes()));
  };
  count(frame::kValueEpochLayer);
  if (key.empty()) count(frame::kVisibilityEpochLayer);
  return changes;
}

std::string table_obstacle(const std::string& path, const std::string& key, bool is_mounted) {
  try {
    const auto frame = frame::open_path(path, {});
    if (!frame) codec::throw_malformed("no frame");
    const auto changes = table_changes(
        [&](const std::string& name) { return read_index_metadata(*frame, name); }, key);
    if (changes.empty() || is_mounted) return {};
    return "read-only, since it is mounted without the table that it belongs to";
  } catch (const codec::Error& error) {
    return fmt::format("read-only, since the indexes of its table cannot be marked stale: {}: {}",
                       kTableFrame, error.what());
  }
}

}  // namespace bloscfs::fs
