#include "tools/create_tree.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/open/open.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/encoding/new_frame.hpp"
#include "fs/source/local/files/target_name.hpp"
#include "fs/view/file_view.hpp"
#include "tools/creation.hpp"
#include "tools/file_jobs.hpp"
#include "tools/input.hpp"
#include "tools/plain_tree.hpp"
#include "tools/tree_target.hpp"

namespace bloscfs::tools {
namespace {

using fs::ShownAs;

/// Files of at least this size are compressed by all threads, one such file at a time. If one is in
/// progress, another large file gets a single thread.
constexpr std::int64_t kLarge = std::int64_t{64} << 20;

/// True if the file, stored as an array, would read the same byte for byte.
bool is_array(int fd, const std::string& name, std::int64_t size) {
  if (!fs::is_array_name(name)) return false;
  const auto read = [&](std::int64_t offset, codec::MutableBytes out) {
    const ssize_t got = ::pread(fd, out.data(), out.size(), offset);
    if (got < 0) frame::throw_errno();
    std::fill(out.begin() + got, out.end(), std::uint8_t{0});  // the file became shorter
  };
  return fs::array_frame_of({}, {size, read}).has_value();
}

std::string stored_name(const std::string& name, ShownAs shown) {
  const auto names = fs::container_names(
      name, shown, {}, shown == ShownAs::array ? fs::kArraySuffix : fs::kFlatSuffix);
  if (names.empty()) frame::throw_errno(ENAMETOOLONG);
  if (fs::is_temporary(names.front()) || fs::is_lock_file(names.front()))
    throw std::runtime_error("has a name that bloscfs reserves; rename it");
  return names.front();
}

class TreeCreation {
 public:
  explicit TreeCreation(const CreateOptions& options)
      : options_(options),
        tree_(options.input),
        target_(options.output, options.input, options.tree),
        jobs_("create", Progress::is_shown() ? total() : 0) {}

  int run() {
    const int status = jobs_.run(options_.threads, [this] { return next(); });
    target_.finish();
    if (status == 0 && left_ > 0)
      complain(options_.output,
               fmt::format("{} {} kept from an earlier run; to make {} again, remove the output",
                           left_.load(), left_ == 1 ? "file is" : "files are",
                           left_ == 1 ? "it" : "them"));
    return status;
  }

 private:
  std::int64_t total() const {
    std::int64_t sum = 0;
    PlainTree tree(options_.input);
    while (const auto entry = tree.next())
      if (S_ISREG(entry->st.st_mode)) sum += entry->st.st_size;
    return sum;
  }

  std::string shown(const PlainEntry& entry) const {
    return entry.path.empty() ? options_.input : options_.input + "/" + entry.path;
  }

  /// Makes directories at once, because the entries that follow lie in them. All other entries
  /// become jobs.
  std::optional<FileJobs::Job> next() {
    while (auto entry = tree_.next()) {
      if (S_ISDIR(entry->st.st_mode) && !entry->problem) {
        try {
          require_shown(*entry);
          target_.make_directory(entry->path, entry->st);
          continue;
        } catch (const std::exception&) {
          entry->problem = std::current_exception();
        }
      }
      const std::string name = shown(*entry);
      return FileJobs::Job{name,
                           [this, entry = std::move(*entry)](const FileJobs::Advance& advance) {
                             if (entry.problem) std::rethrow_exception(entry.problem);
                             add(entry, advance);
                           }};
    }
    return std::nullopt;
  }

  static void require_shown(const PlainEntry& entry) {
    const std::string name = split_path(entry.path).name;
    if (fs::is_temporary(name) || fs::is_lock_file(name))
      throw std::runtime_error("has a name that bloscfs reserves; rename it");
  }

  void add(const PlainEntry& entry, const FileJobs::Advance& advance) {
    if (S_ISREG(entry.st.st_mode)) return add_file(entry, advance);
    if (!S_ISLNK(entry.st.st_mode))
      throw std::runtime_error("is left out: neither a file, a directory nor a symbolic link");
    require_shown(entry);
    target_.make_symlink(entry.path, tree_.root().read_link(fs::SourcePath(entry.path)), entry.st);
  }

  void add_file(const PlainEntry& entry, const FileJobs::Advance& advance) {
    const auto [above, name] = split_path(entry.path);
    frame::UniqueFd file = entry.object->open_noatime(O_RDONLY);
    const bool as_array = !options_.flat && is_array(file.get(), name, entry.st.st_size);
    const ShownAs shown_as = as_array ? ShownAs::array : ShownAs::flat;
    const std::string stored = stored_name(name, shown_as);
    const auto in_target = [&folder = above](const std::string& last) {
      return folder.empty() ? last : folder + "/" + last;
    };
    const std::string to = in_target(stored);
    if (const auto there = target_.find(to); there && is_made_of(*there, shown_as, entry.st)) {
      target_.note_made(to);
      ++left_;
      return advance(entry.st.st_size);
    }
    refuse_same_shown_name(in_target, name, shown_as);
    if (!target_.may_write(to)) return advance(entry.st.st_size);
    create_frame(entry, std::move(file), as_array, target_.directory(above), stored, advance);
    target_.note_made(to);
  }

  /// True if an earlier run made the frame `there` from the file with the status `source`.
  static bool is_made_of(const fs::SourceObject& there, ShownAs shown_as,
                         const struct stat& source) {
    const struct stat st = there.stat();
    if (!S_ISREG(st.st_mode)) return false;
    try {
      const auto snapshot = frame::open_file(there.open_noatime(O_RDONLY), {});
      if (!snapshot) return false;
      const fs::ViewShape shape = fs::view_shape(snapshot->info(), false);
      return shape.is_array == (shown_as == ShownAs::array) &&
             is_done(st, shape.file_size(), source, source.st_size);
    } catch (const std::exception&) {
      return false;
    }
  }

  /// Throws if OUT has another frame that is shown as `name`. A mount would then show both frames
  /// under other names.
  template <typename InTarget>
  void refuse_same_shown_name(const InTarget& in_target, const std::string& name,
                              ShownAs shown_as) const {
    const ShownAs other = shown_as == ShownAs::array ? ShownAs::flat : ShownAs::array;
    if (!fs::is_array_name(name)) return;
    const std::string stored = stored_name(name, other);
    if (target_.find(in_target(stored)))
      throw std::runtime_error("has the same name in a mount as " + stored + " in OUT; rename one");
  }

  void create_frame(const PlainEntry& entry, frame::UniqueFd file, bool as_array,
                    const fs::SourceDirectory& directory, const std::string& stored,
                    const FileJobs::Advance& advance) {
    RawInput input(std::move(file), shown(entry));
    CreateOptions options = options_;
    options.flat = !as_array;
    const CreatePlan plan = make_plan(options, input.peek(plan_sample(options)), input.file_size());
    const std::string above = split_path(entry.path).directory;
    FrameOutput out(directory, stored, target_.shown(above.empty() ? stored : above + "/" + stored),
                    options.sparse, plan.frame);
    out.take_over(entry.st);
    CreationSettings settings;
    settings.maps = false;
    std::int64_t done = 0;
    settings.progress = [&](std::int64_t taken) {
      advance(taken - done);
      done = taken;
    };
    settings.threads = 1;
    if (entry.st.st_size >= kLarge && large_.try_lock()) {
      const std::lock_guard held(large_, std::adopt_lock);
      settings.threads = options_.threads;
      Creation(std::move(settings), plan, input, out).run();
    } else {
      Creation(std::move(settings), plan, input, out).run();
    }
    require_unchanged(entry);
    out.commit();
    advance(entry.st.st_size - done);
    jobs_.count_file(entry.st.st_size, out.stored_bytes());
  }

  /// Throws if another program has changed the file since its status was read. Otherwise the next
  /// run would take the frame for complete.
  static void require_unchanged(const PlainEntry& entry) {
    const struct stat now = entry.object->stat();
    if (!is_done(now, now.st_size, entry.st, entry.st.st_size))
      throw std::runtime_error("changed while it was read");
  }

  const CreateOptions& options_;
  PlainTree tree_;
  TreeTarget target_;
  FileJobs jobs_;
  std::atomic<std::int64_t> left_ = 0;  ///< files that an earlier run has made
  std::mutex large_;                    ///< held for a large file that uses all threads
};

}  // namespace

int create_tree(const CreateOptions& options) {
  std::error_code ignored;
  const auto type = std::filesystem::status(options.input, ignored).type();
  require(type != std::filesystem::file_type::regular,
          "-r stores a directory; leave it out for a file");
  require(!options.chunk_shape && !options.block_shape, "shapes are for one array, not for -r");
  require(options.metalayers.empty() && options.vlmetalayers.empty(),
          "metalayers are for one frame, not for -r");
  require(!options.table.is_given(), "--schema, --no-header and --delimiter are not for -r");
  return guarded(options.input, [&] { return TreeCreation(options).run(); });
}

}  // namespace bloscfs::tools
