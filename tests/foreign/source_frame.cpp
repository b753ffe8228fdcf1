#include "tests/foreign/source_frame.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "codec/chunk_encoder.hpp"
#include "codec/error.hpp"
#include "frame/cframe/cframe_writer.hpp"
#include "frame/container/frame_writer.hpp"
#include "frame/open/open.hpp"
#include "frame/store/local_store.hpp"
#include "fs/view/file_view.hpp"
#include "fs/view/thread_decoder.hpp"
#include "tests/foreign/oracle.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

constexpr std::size_t kChunkSize = 16384;
constexpr std::size_t kBlockSize = 4096;
constexpr std::size_t kMaxLayer = 1 << 20;

ByteVector random_bytes(Random& random, std::size_t size) {
  const std::string kind = one_in(random, 3) ? "islands" : "noise";
  return make_contents(kind, random(), size, 1);
}

std::unique_ptr<frame::FrameWriter> open_writer(const fs_std::path& path) {
  frame::UniqueFd fd(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return frame::open_cframe_writer(frame::make_local_store(std::move(fd), nullptr), path.filename(),
                                   {});
}

void put_chunk(Random& random, frame::Transaction& transaction, std::int64_t number) {
  const frame::FrameInfo& info = transaction.info();
  const std::int64_t left = info.nbytes - number * info.chunksize;
  codec::EncodeSettings settings;
  settings.typesize = info.typesize;
  settings.blocksize = info.blocksize;
  codec::ChunkEncoder encoder(settings);
  const auto size = static_cast<std::size_t>(std::min<std::int64_t>(left, info.chunksize));
  transaction.put_chunk(number, encoder.encode_stored(make_contents("noise", random(), size, 1)));
}

std::optional<FrameState> read_frame_once(const fs_std::path& path) {
  std::shared_ptr<const frame::Snapshot> snapshot;
  try {
    snapshot = frame::open_path(path, {});
  } catch (const codec::Error&) {
    return std::nullopt;
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
  if (!snapshot) return std::nullopt;
  fs::Stats stats;
  fs::PagePool pages;
  fs::BlockCache cache(std::size_t{32} << 20, pages, stats);
  fs::Request request;
  const fs::FileView view(request, fs::view_shape(snapshot->info(), false),
                          fs::FrameReader(snapshot, 1, 2, cache, stats));
  FrameState state;
  fs::ReplyData data(pages);
  view.read(request, 0, view.size(), data);
  state.contents.resize(static_cast<std::size_t>(view.size()));
  data.copy_to(state.contents);
  for (const auto& entry : snapshot->vlmetalayers())
    state.layers[entry.name] = snapshot->read_vlmetalayer(entry, kMaxLayer, fs::thread_decoder());
  return state;
}

}  // namespace

std::optional<FrameState> read_frame(const fs_std::path& path) {
  std::optional<FrameState> state;
  const auto is_read = [&] {
    try {
      state = read_frame_once(path);
      return true;
    } catch (const std::system_error& error) {
      // A commit was under way.
      if (error.code() != std::errc::io_error) throw;
      return false;
    }
  };
  if (!comes_true(is_read)) throw Violation(path.string() + ": is no frame");
  return state;
}
ByteVector random_frame(Random& random, Kind kind) {
  Cut cut;
  cut.chunksize = kChunkSize;
  cut.blocksize = kBlockSize;
  if (one_in(random, 3)) cut.vlmetalayers = {{"k0", random_bytes(random, 20)}};
  if (kind == Kind::array) {
    const std::int64_t items = between(random, 1, 20000);
    return array_frame(random_bytes(random, static_cast<std::size_t>(4 * items)), {items}, "<i4",
                       4);
  }
  // Half of the frames have only whole chunks, since C-Blosc2 can append only to those.
  const auto size = one_in(random, 2) ? kChunkSize * static_cast<std::size_t>(between(random, 0, 5))
                                      : static_cast<std::size_t>(between(random, 0, 90000));
  return flat_frame(random_bytes(random, size), cut);
}

void edit_in_place(Random& random, const fs_std::path& path, Edit edit) {
  const auto writer = open_writer(path);
  const auto transaction = writer->begin();
  const frame::FrameInfo info = transaction->info();
  if (edit == Edit::layer || info.nchunks == 0 || info.chunksize <= 0) {
    transaction->set_vlmetalayer("k1", random_bytes(random, 30));
  } else if (edit == Edit::growth && !info.array && info.nbytes % info.chunksize == 0) {
    transaction->resize(info.nbytes + info.chunksize);
    put_chunk(random, *transaction, info.nchunks);
  } else {
    put_chunk(random, *transaction, between(random, 0, info.nchunks - 1));
  }
  transaction->commit();
}

}  // namespace bloscfs::test
