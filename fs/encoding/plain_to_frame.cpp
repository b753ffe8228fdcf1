#include "fs/encoding/plain_to_frame.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/sframe/sframe_writer.hpp"
#include "frame/store/temporary_name.hpp"
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

void commit_all(Request& request, const FileBytes& bytes, frame::FrameWriter& writer,
                const FrameExtras& extras, const WriteOptions& options, BlockCache& cache,
                WorkerPool& pool) {
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
  if (extras.before != nullptr) copy_vlmetalayers(*extras.before, extras.changes, *transaction);
  store_metalayers(extras.changes, true, *transaction);
  transaction->set_times(extras.times);
  transaction->commit();
}

}  // namespace

StoredFrame store_as_frame(Request& request, const FileBytes& bytes,
                           const std::shared_ptr<frame::StoreDirectory>& directory,
                           const WriteOptions& options, BlockCache& cache, WorkerPool& pool,
                           const FrameExtras& extras,
                           const std::optional<std::string>& shared_name) {
  frame::FrameSettings settings =
      new_flat_frame(options, {bytes.size(), [&](std::int64_t offset, codec::MutableBytes out) {
                                 bytes.read(request, offset, out);
                               }});
  settings.mode = 0600;
  settings.metalayers = fixed_metalayers(extras.before, extras.changes);
  frame::WriterSettings writer_settings{options.locking};
  writer_settings.shared = shared_name.has_value();
  std::string stored_name = shared_name.value_or(frame::temporary_name());
  auto writer = shared_name
                    ? frame::create_sframe(directory, stored_name, settings, writer_settings)
                    : frame::create_cframe(directory, stored_name, settings, writer_settings);
  try {
    commit_all(request, bytes, *writer, extras, options, cache, pool);
  } catch (...) {
    if (!shared_name) directory->unlink(stored_name);
    throw;
  }
  return {std::move(stored_name), std::move(writer)};
}

}  // namespace bloscfs::fs
