#include "tools/extract_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "codec/error.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/store/throw_errno.hpp"
#include "tools/file_jobs.hpp"
#include "tools/interrupt.hpp"
#include "tools/shown_tree.hpp"
#include "tools/store_address.hpp"
#include "tools/tree_target.hpp"
#include "tools/view_output.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::size_t kCopiedAtOnce = std::size_t{1} << 20;

/// Copies a file that a mount shows as it is stored. Pieces of zeros become holes.
void copy_plain(int fd, OutputFile& out, const FileJobs::Advance& advance) {
  std::vector<std::uint8_t> piece(kCopiedAtOnce);
  for (;;) {
    throw_if_interrupted();
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) frame::throw_errno();
    if (got == 0) return;
    const auto bytes = codec::Bytes(piece).first(static_cast<std::size_t>(got));
    if (std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; }))
      out.write_zeros(got);
    else
      out.write(bytes);
    advance(got);
  }
}

class TreeExtraction {
 public:
  TreeExtraction(const ExtractOptions& options, StoreAddress source)
      : options_(options),
        remote_(options.remote),
        source_(std::move(source)),
        tree_(source_.store, remote_, {.key = source_.key}),
        target_(options.output, source_.store, options.tree),
        jobs_("extract", Progress::is_shown() ? total() : 0) {}

  int run() {
    const int status =
        jobs_.run(std::max(1U, std::thread::hardware_concurrency()), [this] { return next(); });
    target_.finish();
    return status;
  }

 private:
  std::int64_t total() const {
    std::int64_t sum = 0;
    ShownTree tree(source_.store, remote_, {.key = source_.key});
    while (const auto entry = tree.next())
      if (S_ISREG(entry->st.st_mode)) sum += entry->st.st_size;
    return sum;
  }

  /// Makes directories at once, because the entries that follow lie in them. All other entries
  /// become jobs.
  std::optional<FileJobs::Job> next() {
    while (auto entry = tree_.next()) {
      if (!entry->problem && !place_below_source(*entry)) continue;
      if (S_ISDIR(entry->st.st_mode) && !entry->problem) {
        try {
          target_.make_directory(entry->path, entry->st);
          continue;
        } catch (const std::exception&) {
          entry->problem = std::current_exception();
        }
      }
      const std::string name = options_.file + "/" + entry->path;
      return FileJobs::Job{name,
                           [this, entry = std::move(*entry)](const FileJobs::Advance& advance) {
                             if (entry.problem) std::rethrow_exception(entry.problem);
                             add(entry, advance);
                           }};
    }
    return std::nullopt;
  }

  /// Makes the entry's path relative to the source, if that is a group or leaf of a store. Returns
  /// false for the groups above the source.
  bool place_below_source(ShownEntry& entry) {
    if (source_.key == "/") return true;
    if (entry.key.size() < source_.key.size()) return false;
    if (entry.key == source_.key)
      above_ =
          S_ISDIR(entry.st.st_mode) ? entry.path.size() : split_path(entry.path).directory.size();
    entry.path.erase(0, std::min(entry.path.size(), above_ == 0 ? 0 : above_ + 1));
    return true;
  }

  void add(const ShownEntry& entry, const FileJobs::Advance& advance) {
    if (S_ISREG(entry.st.st_mode)) return add_file(entry, advance);
    if (!S_ISLNK(entry.st.st_mode))
      throw std::runtime_error("is left out: neither a file, a directory nor a symbolic link");
    target_.make_symlink(entry.path, entry.link, entry.st);
  }

  void add_file(const ShownEntry& entry, const FileJobs::Advance& advance) {
    const auto [above, name] = split_path(entry.path);
    if (const auto there = target_.find(entry.path)) {
      const struct stat st = there->stat();
      if (S_ISREG(st.st_mode) && is_done(st, st.st_size, entry.st, entry.st.st_size)) {
        target_.note_made(entry.path);
        return advance(entry.st.st_size);
      }
    }
    if (!target_.may_write(entry.path)) return advance(entry.st.st_size);
    const fs::SourceDirectory directory = target_.directory(above);
    const fs::StoredForm form = tree_.stored_form(entry);
    OutputFile out(directory, name, target_.shown(entry.path), entry.st);
    if (form.frame)
      write_contents(form.frame, out, advance);
    else
      copy_plain(form.open_plain().get(), out, advance);
    out.commit();
    jobs_.count_file(form.bytes, entry.st.st_size);
    target_.note_made(entry.path);
  }

  void write_contents(const std::shared_ptr<const frame::Snapshot>& snapshot, OutputFile& out,
                      const FileJobs::Advance& advance) {
    Input input(snapshot, limits_);
    fs::Request request;
    const fs::FileView view(request, fs::view_shape(snapshot->info(), false), input.reader());
    view.require_contents(request);
    std::int64_t reported = 0;  // bytes that were passed to `advance`
    write_view(view, {0, view.size()}, input, out, [&](std::int64_t done) {
      advance(done - reported);
      reported = done;
    });
    advance(view.size() - reported);
  }

  const ExtractOptions& options_;
  const RemoteFiles remote_;
  const StoreAddress source_;
  std::size_t above_ = 0;  ///< length of the path of the group that is extracted
  RunLimits limits_;
  ShownTree tree_;
  TreeTarget target_;
  FileJobs jobs_;
};

}  // namespace

int extract_tree(const ExtractOptions& options) {
  if (options.chunk || options.npy || options.json || options.offset != 0 || options.length)
    throw UsageError("-r writes whole files as a mount would show them, and goes with no other");
  if (frame::is_remote(options.file)) throw UsageError("-r goes with local directories");
  return guarded(options.file, [&] {
    const auto address = parse_store_address(options.file);
    if (address) find_entry(*open_store(address->store), *address);
    return TreeExtraction(options, address.value_or(StoreAddress{options.file, "/"})).run();
  });
}

}  // namespace bloscfs::tools
