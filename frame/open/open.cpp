#include "frame/open/open.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fcntl.h>

#include "codec/error.hpp"
#include "frame/bloscpack/bloscpack.hpp"
#include "frame/cframe/cframe.hpp"
#include "frame/header/frame_header.hpp"
#include "frame/header/frame_parts.hpp"
#include "frame/sframe/sframe.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline open {
namespace {

constexpr std::size_t kMagicBytes = 16;

/// A chunks.b2frame without the directory that has the chunk files.
class IndexAlone final : public SframeFiles {
 public:
  explicit IndexAlone(std::shared_ptr<const ByteSource> index) : index_(std::move(index)) {}
  std::shared_ptr<const ByteSource> index() const override { return index_; }
  std::shared_ptr<const ByteSource> open_chunk(std::uint32_t number) const override {
    codec::throw_malformed("no chunk file " + chunk_file_name(number));
  }
  std::optional<FileStamp> index_stamp() const override { return index_->stamp(); }
  std::shared_ptr<PeerLock> lock() const override { return nullptr; }

 private:
  const std::shared_ptr<const ByteSource> index_;
};

std::unique_ptr<Snapshot> open_files(std::shared_ptr<const SframeFiles> files) {
  if (!files) return nullptr;
  std::array<std::uint8_t, offsetof(RawFrameStart, frame_type) + 1> first{};
  const std::size_t got = files->index()->read_at(0, first);
  if (got < first.size() || !has_frame_magic(first) || first.back() != 1) return nullptr;
  return open_sframe(std::move(files));
}

}  // namespace

std::optional<ContainerKind> recognise(Bytes first_bytes) {
  if (has_frame_magic(first_bytes)) return ContainerKind::cframe;
  if (has_bloscpack_magic(first_bytes)) return ContainerKind::bloscpack;
  return std::nullopt;
}

std::unique_ptr<Snapshot> open_file(UniqueFd fd, const OpenSettings& settings) {
  return open_file(std::make_shared<FileSource>(std::move(fd), settings.counters), settings);
}

std::unique_ptr<Snapshot> open_file(std::shared_ptr<const ByteSource> source,
                                    const OpenSettings& settings) {
  const bool is_over_network = source->is_over_network();
  SourceStart start;
  start.bytes.resize(kMagicBytes);
  if (!is_over_network) {
    // This read also covers what open_cframe() reads first.
    start.stamp = settings.stamp ? *settings.stamp : source->stamp();
    const auto size = static_cast<std::size_t>(start.stamp.size);
    start.bytes.resize(size <= kSmallFrame ? size : kHeaderBytesKept);
  }
  start.bytes.resize(source->read_at(0, start.bytes));
  const auto kind = recognise(start.bytes);
  if (!kind) return nullptr;
  if (*kind == ContainerKind::bloscpack) return open_bloscpack(std::move(source), settings);
  return open_cframe(std::move(source), settings, nullptr, is_over_network ? nullptr : &start);
}

std::optional<FrameInfo> peek_far_frame(const ByteSource& source, std::uint8_t frame_type) {
  if (!source.is_over_network()) return std::nullopt;
  const std::int64_t size = source.stamp().size;
  const ByteRange end{std::max<std::int64_t>(0, size - std::int64_t{kHeaderBytesKept}),
                      std::min(size, std::int64_t{kHeaderBytesKept})};
  if (source.is_available({&end, 1})) return std::nullopt;
  std::array<std::uint8_t, kMagicBytes> first{};
  const std::size_t got = source.read_at(0, first);
  if (recognise(Bytes(first).first(got)) != ContainerKind::cframe) return std::nullopt;
  return read_frame_info(source, size, frame_type);
}

std::unique_ptr<Snapshot> open_directory(UniqueFd directory, const OpenSettings& settings) {
  return open_directory(make_local_store(std::move(directory), settings.counters));
}

std::unique_ptr<Snapshot> open_directory(std::shared_ptr<const StoreDirectory> directory) {
  return open_files(open_sframe_files(std::move(directory)));
}

std::unique_ptr<Snapshot> open_index(std::shared_ptr<const ByteSource> index) {
  return open_files(std::make_shared<const IndexAlone>(std::move(index)));
}

std::unique_ptr<Snapshot> open_path(const std::string& path, const OpenSettings& settings) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat st {};
  if (!place || ::fstat(place.get(), &st) != 0) throw_errno();
  if (S_ISDIR(st.st_mode)) {
    UniqueFd directory(::openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory) throw_errno();
    return open_directory(std::move(directory), settings);
  }
  UniqueFd fd = open_if_regular(place, O_RDONLY);
  if (!fd) return nullptr;
  OpenSettings named = settings;
  named.name = path;
  named.directory = AT_FDCWD;
  return open_file(std::move(fd), named);
}

}  // namespace bloscfs::frame::inline open
