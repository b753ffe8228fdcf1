// b2frame convert: stores frames in another way, with all their contents and metalayers.

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "codec/error.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/metalayer_names.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/naming.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/conversion.hpp"
#include "tools/file_jobs.hpp"
#include "tools/mounted_path.hpp"
#include "tools/output_name.hpp"
#include "tools/promised_format.hpp"
#include "tools/remote_files.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

namespace filesystem = std::filesystem;

void require_sensible(const ConvertOptions& options) {
  const int places = (options.output.empty() ? 0 : 1) + (options.directory.empty() ? 0 : 1) +
                     (options.in_place ? 1 : 0);
  require(places == 1, "one of -o, -d and --in-place says where to");
  require(options.output.empty() || options.files.size() == 1,
          "-o goes with one file; -d takes several");
  require(!options.contiguous || !options.storage.sparse,
          "--contiguous and --sparse exclude each other");
}

frame::FileAttributes attributes_of(const std::string& path, bool is_directory) {
  const std::string file = is_directory ? path + "/" + frame::kSframeIndexName : path;
  frame::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) frame::throw_errno();
  return frame::make_local_file(std::move(fd))->attributes();
}

/// Throws Error(unsupported) for a file with other hard links. They would keep the old contents.
void require_one_name(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) frame::throw_errno();
  if (S_ISREG(st.st_mode) && st.st_nlink > 1)
    codec::throw_unsupported(
        "has other hard links, which would keep the old contents; use -o or -d");
}

/// Returns the output's name for -d: the input's own name, with a frame suffix.
std::string name_of(const std::string& file, const frame::FrameInfo& info) {
  std::string path = file;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::string name = path.substr(path.rfind('/') + 1);
  const std::string stem(fs::stem(name));
  if (info.is_frame() && stem != name) return name;
  return stem +
         std::string(info.array && !info.has_packed_tensor() ? fs::kArraySuffix : fs::kFlatSuffix);
}

/// Skips files that cannot be found, which Converter reports.
void commit_mounts_of_all(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::string frame;
    try {
      frame = file_of_frame(file);
    } catch (const std::exception&) {
      continue;
    }
    commit_mounts_of(frame);
  }
}

class Converter {
 public:
  explicit Converter(const ConvertOptions& options)
      : options_(options), remote_({}), jobs_("convert", Progress::is_shown() ? total() : 0) {}

  int run() {
    if (!options_.directory.empty()) make_directory();
    const Threads threads = share_threads(options_.storage.threads, options_.files.size());
    chunk_threads_ = threads.chunks;
    std::size_t next = 0;
    return jobs_.run(threads.files, [&]() -> std::optional<FileJobs::Job> {
      if (next == options_.files.size()) return std::nullopt;
      const std::string& file = options_.files[next++];
      return FileJobs::Job{
          file, [this, file](const FileJobs::Advance& advance) { convert(file, advance); }};
    });
  }

 private:
  void make_directory() const {
    std::error_code error;
    filesystem::create_directory(options_.directory, error);
    if (error == std::errc::file_exists)
      throw FileError(options_.directory, "is not a directory; choose another name for OUTDIR");
    if (error) throw_file_error(options_.directory, error.value());
  }

  /// Returns the bytes of the contents of all files. Skips files that cannot be opened, which
  /// convert() reports later.
  std::int64_t total() {
    std::int64_t sum = 0;
    for (const std::string& file : options_.files) {
      try {
        sum += fs::view_shape(Input(file, false, remote_, limits_).info(), true).content_size;
      } catch (const std::exception&) {
        continue;
      }
    }
    return sum;
  }

  /// Returns the name of the output for a file. Throws UsageError if it would replace the input, or
  /// the output for another file.
  std::string output_of(const std::string& file, const frame::FrameInfo& info) {
    if (options_.in_place) {
      require(info.is_frame(),
              "a Bloscpack file becomes a frame, which needs another name: -o or -d");
      require_one_name(file);
      return file;
    }
    std::string output = options_.directory.empty()
                             ? options_.output
                             : options_.directory + "/" + name_of(file, info);
    if (same_file(file, output))
      throw UsageError(parse_store_address(file)
                           ? "the output would replace the store that it is read from"
                           : "input and output are the same file: --in-place");
    if (options_.directory.empty())
      require_frame_name(output, info.array && !info.has_packed_tensor());
    require_replaceable(output, OutputKind::frame);
    const fs::MutexLock lock(mutex_);
    if (!outputs_.insert(output).second)
      throw UsageError("another file becomes " + output + ", too");
    return output;
  }

  bool becomes_sparse(const frame::FrameInfo& info) const {
    if (options_.storage.sparse) return true;
    return info.is_directory() && !options_.contiguous;
  }

  void convert(const std::string& name, const FileJobs::Advance& advance) {
    const std::string file = options_.in_place ? file_of_frame(name) : name;
    Input input(file, false, remote_, limits_);
    Elements elements(input);
    const frame::FrameInfo& info = input.info();
    ConversionPlan plan = plan_conversion(options_.storage, input.snapshot(), elements);
    add_metalayers(input.snapshot(), plan.target.frame);
    FrameOutput out(output_of(file, info), becomes_sparse(info), plan.target.frame,
                    mode_of_input(file), Durability::at_commit);
    if (options_.in_place) out.take_over(attributes_of(file, info.is_directory()));
    // Some vlmetalayers describe the chunks of one frame. They stay valid only if that frame is
    // replaced by one with the same chunks. The output writes checksums of its own.
    const bool is_same = options_.in_place && plan.copies_chunks;
    for (const auto& layer : input.snapshot().vlmetalayers())
      if (layer.name != kChecksums && (is_same || !frame::is_bound_to_frame(layer.name)))
        out.copy_vlmetalayer(input.snapshot(), layer);
    Conversion(input, elements, plan, chunk_threads_, out, advance).run();
    if (!input.snapshot().unchanged()) throw FileError(file, "was changed meanwhile");
    out.commit();
    jobs_.count_file(info.stored_bytes(), out.stored_bytes());
  }

  /// Copies the metalayers, except those that describe shapes. The new frame has its own.
  static void add_metalayers(const frame::Snapshot& snapshot, frame::FrameSettings& settings) {
    for (const auto& layer : snapshot.metalayers())
      if (layer.name != "b2nd" && layer.name != "caterva" && layer.name != frame::kOrderLayer)
        settings.metalayers.push_back({layer.name, snapshot.read_metalayer(layer)});
  }

  static constexpr const char* kChecksums = frame::kChecksumLayerName;

  const ConvertOptions& options_;
  RemoteFiles remote_;
  RunLimits limits_;
  FileJobs jobs_;
  unsigned chunk_threads_ = 1;
  fs::Mutex mutex_{fs::LockLevel::request};
  std::set<std::string> outputs_ GUARDED_BY(mutex_);
};

}  // namespace

int run_convert(const ConvertOptions& options) {
  require_sensible(options);
  return guarded(options.directory, [&] {
    if (options.in_place) commit_mounts_of_all(options.files);
    return Converter(options).run();
  });
}

}  // namespace bloscfs::tools
