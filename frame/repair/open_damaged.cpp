#include "frame/repair/open_damaged.hpp"

#include <algorithm>
#include <stdexcept>

#include <fcntl.h>
#include <sys/stat.h>

#include "frame/repair/frame_planner.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline repair {
namespace {

class OneFile final : public StoredChunks {
 public:
  explicit OneFile(std::shared_ptr<const ByteSource> source)
      : source_(std::move(source)),
        size_(static_cast<std::uint64_t>(std::max<std::int64_t>(0, source_->stamp().size))) {}
  std::optional<Place> locate(std::uint64_t at) const override {
    if (at >= size_) return std::nullopt;
    return Place{source_, at, size_ - at};
  }

 private:
  std::shared_ptr<const ByteSource> source_;
  std::uint64_t size_;
};

/// The chunk files of a directory. `at` is the number of a file.
class ChunkFiles final : public StoredChunks {
 public:
  explicit ChunkFiles(std::shared_ptr<const StoreDirectory> directory)
      : directory_(std::move(directory)) {}
  std::optional<Place> locate(std::uint64_t at) const override {
    if (at > UINT32_MAX) return std::nullopt;
    auto source = directory_->open_source(chunk_file_name(static_cast<std::uint32_t>(at)));
    if (!source) return std::nullopt;
    const std::int64_t size = source->stamp().size;
    if (size <= 0) return std::nullopt;
    return Place{std::move(source), 0, static_cast<std::uint64_t>(size)};
  }

 private:
  std::shared_ptr<const StoreDirectory> directory_;
};

ChunkNumbers list_numbers(const StoreDirectory& directory) {
  ChunkNumbers found;
  for (const std::string& name : directory.names()) {
    const auto number = chunk_file_number(name);
    if (!number) continue;
    found.numbers.push_back(*number);
    const auto stamp = directory.stamp(name);
    if (stamp) found.stored += static_cast<std::uint64_t>(std::max<std::int64_t>(0, stamp->size));
  }
  std::sort(found.numbers.begin(), found.numbers.end());
  return found;
}

}  // namespace

RepairPlan plan_repair(std::shared_ptr<const ByteSource> source) {
  auto chunks = std::make_shared<OneFile>(source);
  return FramePlanner(std::move(source), std::move(chunks), std::nullopt).make();
}

RepairPlan plan_repair(const std::string& path) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat st {};
  if (!place || ::fstat(place.get(), &st) != 0) throw_errno();
  if (S_ISDIR(st.st_mode)) {
    UniqueFd fd(::openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) throw_errno();
    const std::shared_ptr<StoreDirectory> directory = make_local_store(std::move(fd), nullptr);
    return FramePlanner(directory->open_source(kSframeIndexName),
                        std::make_shared<ChunkFiles>(directory), list_numbers(*directory))
        .make();
  }
  UniqueFd fd = open_if_regular(place, O_RDONLY);
  if (!fd) throw std::runtime_error("is not a regular file");
  return plan_repair(std::make_shared<FileSource>(std::move(fd), nullptr));
}

}  // namespace bloscfs::frame::inline repair
