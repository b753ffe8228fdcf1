#include "tools/store_output.hpp"

#include <cerrno>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "frame/pystore/store_names.hpp"
#include "frame/remote/url.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/throw_errno.hpp"
#include "tools/frame_output.hpp"
#include "tools/metalayer_file.hpp"
#include "tools/mounted_path.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::int32_t kMarkerChunkSize = 8192;

frame::UniqueFd open_below(int directory, const std::string& name) {
  frame::UniqueFd fd(
      ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) frame::throw_errno();
  return fd;
}

}  // namespace

frame::CopyProgress shown_progress(const char* label, std::optional<Progress>& bar) {
  return [label, &bar](std::uint64_t done, std::uint64_t total) {
    throw_if_interrupted();
    if (!bar) bar.emplace(label, static_cast<std::int64_t>(total));
    bar->update(static_cast<std::int64_t>(done));
  };
}

frame::FrameSettings empty_frame(std::int32_t chunksize) {
  frame::FrameSettings settings;
  settings.chunksize = chunksize;
  settings.codec = codec::CodecId::zstd;
  settings.filters.back() = {codec::FilterId::shuffle, 0};
  return settings;
}

StoreOutput::StoreOutput(const std::string& output, bool may_replace)
    : output_(output),
      may_replace_(may_replace),
      directory_name_(with_output_errors(output, [&] { return OutputName(output); })) {
  directory_ = with_output_errors(output_, [&] {
    const auto there = directory_name_.status();
    if (there && !(may_replace && is_packed()))
      throw std::runtime_error(
          "exists, and is not replaced: remove it first, or choose another name for OUT");
    if (there && !S_ISREG(there->st_mode)) throw std::runtime_error("is not a regular file");
    // A mount reserves the names of temporary directories, and would store the files in new frames.
    if (const auto place = place_in_source(output_))
      throw std::runtime_error(
          fmt::format("is in a mount, which cannot hold a new store; write it to SOURCE: -o {}",
                      frame::shown_url(*place)));
    return directory_name_.make_directory();
  });
}

fs::SourceDirectory StoreOutput::top() const {
  return {open_below(directory_.get(), "."), output_};
}

std::pair<fs::SourceDirectory, std::string> StoreOutput::place_of(const std::string& path) const {
  return with_output_errors(output_, [&] {
    frame::UniqueFd directory = open_below(directory_.get(), ".");
    std::size_t at = 0;
    for (std::size_t slash; (slash = path.find('/', at)) != std::string::npos; at = slash + 1) {
      const std::string name = path.substr(at, slash - at);
      if (::mkdirat(directory.get(), name.c_str(), 0777) != 0 && errno != EEXIST)
        frame::throw_errno();
      directory = open_below(directory.get(), name);
    }
    return std::pair(fs::SourceDirectory(std::move(directory), output_), path.substr(at));
  });
}

void StoreOutput::add_marker() const {
  frame::FrameSettings settings = empty_frame(kMarkerChunkSize);
  settings.metalayers.push_back({"b2tree", msgpack_of("{\"version\":1}")});
  FrameOutput out(top(), std::string(frame::kEmbedName), output_, false, settings);
  out.set_vlmetalayer("estore_metadata", msgpack_of("{\"embed_map\":{},\"current_offset\":0}"));
  out.commit();
}

void StoreOutput::commit(mode_t mode) {
  with_output_errors(output_, [&] {
    if (is_packed()) return pack(mode);
    // Users who can read the files can also search the directory.
    const mode_t search = (mode & mode_t{0444}) >> 2;
    if (::fchmod(directory_.get(), without_umask((mode & mode_t{0666}) | search | S_IRWXU)) != 0 ||
        ::syncfs(directory_.get()) != 0)
      frame::throw_errno();
    directory_name_.publish(frame::RenameMode::no_replace);
  });
}

void StoreOutput::pack(mode_t mode) {
  // The unpacked directory keeps its temporary name. The destructor of `directory_name_` removes
  // it.
  OutputName name(output_);
  std::optional<WatchedLock> lock;
  if (name.status()) lock.emplace(name.directory(), name.name(), output_);
  const auto file = frame::make_local_file(name.make_file());
  std::optional<Progress> bar;
  frame::pack_store(directory_, *file, shown_progress("pack", bar));
  file->set_attributes(name.attributes_for(*file, mode));
  file->sync();
  name.publish(may_replace_ ? frame::RenameMode::replace : frame::RenameMode::no_replace);
}

}  // namespace bloscfs::tools
