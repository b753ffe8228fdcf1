#include "fs/encoding/plain_to_frame.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/sframe/sframe_writer.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/encoding/chunk_recoder.hpp"
#include "fs/encoding/new_frame.hpp"
#include "fs/encoding/stored_metalayers.hpp"

namespace bloscfs::fs {
namespace {

std::vector<std::uint8_t> read(Request& request, const FileBytes& bytes, std::int64_t offset,
                               std::int64_t size) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(size));
  bytes.read(request, offset, out);
  return out;
}

const LayerChanges& changes_of(const FrameExtras& extras) {
  static const LayerChanges none;
  return extras.metalayers == nullptr ? none : *extras.metalayers;
}

void commit_all(Request& request, const FileBytes& bytes, frame::FrameWriter& writer,
                const WriteOptions& options, BlockCache& cache, WorkerPool& pool,
                const FrameExtras& extras) {
  const auto transaction = writer.begin();
  const std::int64_t size = bytes.size();
  transaction->resize(size);
  const std::int64_t chunksize = transaction->info().chunksize;
  ChunkRecoder recoder(request, encode_settings(transaction->info(), options), cache.pages(), pool,
                       &cache.budget(), RunBounds(),
                       [&](std::span<const RecodedChunk> run) { put_recoded(*transaction, run); });
  // After resize(), all chunks read as zeros. So only chunks with data are stored.
  for (std::int64_t at = bytes.next_data(request, 0); at < size;) {
    const std::int64_t begin = at / chunksize * chunksize;
    const std::int64_t part = std::min(chunksize, size - begin);
    recoder.add(
        begin / chunksize, static_cast<std::size_t>(part),
        [&bytes, begin, part](Request& own, codec::ChunkEncoder& encoder, codec::MutableBytes out) {
          return encoder.encode_into(read(own, bytes, begin, part), out);
        });
    if (part == size - begin) break;
    at = bytes.next_data(request, begin + part);
  }
  recoder.finish();
  if (extras.before != nullptr) copy_vlmetalayers(*extras.before, changes_of(extras), *transaction);
  store_metalayers(changes_of(extras), true, *transaction);
  if (extras.times) transaction->set_times(*extras.times);
  transaction->write();
  // Metalayers are copied without the checks of FileView.
  if (extras.before != nullptr && !extras.before->is_lasting() &&
      !extras.before->is_unchanged_without_wait())
    frame::throw_errno(ESTALE, "the old file");
  transaction->flush();
  transaction->publish();
  transaction->flush();
  transaction->finish();
}

}  // namespace

StoredFrame store_as_frame(Request& request, const FileBytes& bytes,
                           const std::shared_ptr<frame::StoreDirectory>& directory,
                           const WriteOptions& options, BlockCache& cache, WorkerPool& pool,
                           const std::optional<std::string>& shared_name,
                           const FrameExtras& extras) {
  frame::FrameSettings settings =
      new_flat_frame(options, {bytes.size(), [&](std::int64_t offset, codec::MutableBytes out) {
                                 bytes.read(request, offset, out);
                               }});
  settings.mode = 0600;
  settings.metalayers = fixed_metalayers(extras.before, changes_of(extras));
  if (extras.before != nullptr && extras.before->has_checksums()) settings.checksums = true;
  frame::WriterSettings writer_settings{options.locking};
  writer_settings.shared = shared_name.has_value();
  std::string stored_name = shared_name.value_or(frame::temporary_name());
  auto writer = shared_name
                    ? frame::create_sframe(directory, stored_name, settings, writer_settings)
                    : frame::create_cframe(directory, stored_name, settings, writer_settings);
  try {
    commit_all(request, bytes, *writer, options, cache, pool, extras);
  } catch (...) {
    if (!shared_name) directory->unlink(stored_name);
    throw;
  }
  return {std::move(stored_name), std::move(writer)};
}

}  // namespace bloscfs::fs
