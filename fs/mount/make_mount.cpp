#include "fs/mount/make_mount.hpp"

#include <cstdint>
#include <utility>

#include "fs/source/local/local_source.hpp"
#include "fs/source/objects/remote_source.hpp"

namespace bloscfs::fs {
namespace {

/// Default chunk size for a SOURCE that is a URL. Larger than for files, because each chunk is an
/// object.
constexpr std::int32_t kChunkOfObjects = std::int32_t{4} << 20;

}  // namespace

std::unique_ptr<Mount> mount_files(MountSource source, const MountOptions& options,
                                   const WorkerCounts& workers, MountLock* lock, PagePool& pages,
                                   const frame::Clock& clock) {
  return std::make_unique<Mount>(
      options, workers.coding, pages, clock, [&](const SourceServices& services) {
        return std::make_unique<LocalSource>(services, std::move(source), options, lock,
                                             workers.committing);
      });
}

std::unique_ptr<Mount> mount_objects(const std::shared_ptr<frame::ObjectTree>& tree,
                                     MountOptions options, std::size_t workers, PagePool& pages,
                                     const frame::Clock& clock) {
  if (options.write.chunk_size == 0) options.write.chunk_size = kChunkOfObjects;
  return std::make_unique<Mount>(options, workers, pages, clock,
                                 [&](const SourceServices& services) {
                                   return std::make_unique<RemoteSource>(services, tree, options);
                                 });
}

}  // namespace bloscfs::fs
