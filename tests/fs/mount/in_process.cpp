#include "tests/fs/mount/in_process.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <future>
#include <system_error>
#include <utility>
#include <variant>

#include <unistd.h>

#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "fs/support/log.hpp"
#include "tests/support/source_lock.hpp"

namespace bloscfs::test {
namespace {

constexpr std::int64_t kRequest = 128 << 10;

std::vector<std::string> option_lists(const std::string& options) {
  return options.empty() ? std::vector<std::string>() : std::vector<std::string>{options};
}

void require(std::int64_t result, const char* what) {
  if (result < 0) throw_errno(what);
}

/// Waits until the write is answered. The kernel, too, sends a program's next write only then.
void wait_for_answer(fs::DirtyBudget& budget, const fs::FileHandle& handle, std::size_t written) {
  const auto user = handle.dirty_user();
  if (!user || budget.has_room(*user)) return;
  std::promise<void> answered;
  budget.reply_later(*user, {&answered, written, [&] { answered.set_value(); }},
                     [] { return false; });
  answered.get_future().wait();
}

}  // namespace

int error_of(const std::function<void()>& work) {
  try {
    work();
    return 0;
  } catch (const codec::Error&) {
    return EIO;
  } catch (const std::system_error& error) {
    return error.code().default_error_condition().category() == std::generic_category()
               ? error.code().default_error_condition().value()
               : EIO;
  }
}

InProcess::InProcess(const fs_std::path& source, const std::string& options,
                     const frame::Clock& clock)
    : caller{::geteuid(), ::getegid(), 0022, ::gettid()} {
  fs::log::use(fs::log::open_file(home_ / "log"));
  const fs::MountOptions parsed = fs::parse_options(option_lists(options));
  fs::MountSource opened = fs::open_source(source, parsed.raw, parsed.stores);
  if (!parsed.read_only) {
    lock_.emplace(opened.root.get(), opened.single, std::chrono::seconds(10));
    lock_->make_durable();
  }
  if (!parsed.rescue.empty())
    opened.rescue.emplace(fs::open_rescue_folder(parsed.rescue, fs::IfMissing::fail), parsed.rescue,
                          source);
  mount_ = fs::mount_files(std::move(opened), parsed, fs::WorkerCounts{2, 3},
                           lock_ ? &*lock_ : nullptr, pages_, clock);
  count_forgotten();
}

InProcess::InProcess(const std::shared_ptr<frame::ObjectTree>& tree, const std::string& options,
                     const frame::Clock& clock)
    : caller{::geteuid(), ::getegid(), 0022, ::gettid()} {
  fs::log::use(fs::log::open_file(home_ / "log"));
  mount_ = fs::mount_objects(tree, fs::parse_options(option_lists(options)), 2, pages_, clock);
  count_forgotten();
}

void InProcess::count_forgotten() {
  mount_->kernel_cache().forget_pages = [this](fs::NodeId, const std::function<void()>& done) {
    forgotten_++;
    done();
  };
}

InProcess::~InProcess() {
  if (mount_ && lock_) lock_->leave_unfinished();
}

void InProcess::end() {
  std::exception_ptr failure;
  try {
    if (source().is_writable()) mount_->commit_all();
  } catch (const std::exception&) {
    failure = std::current_exception();
    if (lock_) lock_->leave_unfinished();
  }
  mount_.reset();
  lock_.reset();
  if (failure) std::rethrow_exception(failure);
}

std::string InProcess::log() const {
  const ByteVector text = read_file(home_ / "log");
  return {text.begin(), text.end()};
}

fs::Request& InProcess::request() const {
  static thread_local std::optional<fs::Request> request;
  return request.emplace(nullptr, caller);
}

Reference InProcess::keep(const fs::FoundNode& found) {
  return {new fs::NodeId(found.id), [this](const fs::NodeId* id) {
            if (mount_) source().forget(*id, 1);
            delete id;
          }};
}

InProcess::Place InProcess::place(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {find({}), std::string(path)};
  return {find(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

Reference InProcess::find(std::string_view path) {
  if (path.empty()) return keep(source().reference(request(), fs::kRootId));
  const Place at = place(path);
  const auto found = source().lookup(request(), *at.directory, at.name);
  if (!found) throw std::system_error(ENOENT, std::generic_category(), std::string(path));
  return keep(*found);
}

bool InProcess::has(std::string_view path) {
  const Place at = place(path);
  const auto found = source().lookup(request(), *at.directory, at.name);
  if (found) keep(*found);
  return found.has_value();
}

struct stat InProcess::stat(std::string_view path) {
  return source().attributes(request(), *find(path));
}

Names InProcess::names(std::string_view path) {
  const Reference directory = find(path);
  fs::DirectoryHandles& directories = mount_->directories();
  const auto number = directories.open(request(), *directory, directories.listings_begun());
  Names names;
  for (const auto& entry :
       directories.entries(request(), number, true, directories.listings_begun())->entries)
    names.push_back(entry.shown_name);
  directories.release(request(), number);
  std::sort(names.begin(), names.end());
  return names;
}

InProcess::File InProcess::open(std::string_view path, int flags) {
  Reference node = (flags & O_ACCMODE) == O_RDONLY ? find(path) : find(path);
  const auto opened = mount_->open(request(), *node, flags);
  return {*this, std::move(node), opened.handle};
}

InProcess::File InProcess::create(std::string_view path, int flags) {
  const Place at = place(path);
  auto descriptors = source().take_descriptors(request());
  Reference node = keep(source().create_file(request(), *at.directory, at.name, S_IFREG | 0644));
  const auto opened = mount_->open(request(), *node, flags, std::move(descriptors));
  return {*this, std::move(node), opened.handle};
}

ByteVector InProcess::read(std::string_view path) { return open(path, O_RDONLY).contents(); }

void InProcess::write(std::string_view path, const ByteVector& bytes) {
  const File file = has(path) ? open(path, O_WRONLY | O_TRUNC) : create(path, O_WRONLY);
  file.write(0, bytes);
  file.flush();
}

void InProcess::resize(std::string_view path, std::int64_t size) {
  source().resize(request(), *find(path), size);
}

void InProcess::make_directory(std::string_view path) {
  const Place at = place(path);
  keep(source().make_directory(request(), *at.directory, at.name, 0755));
}

void InProcess::make_link(std::string_view from, std::string_view path) {
  const Place at = place(path);
  keep(source().make_link(request(), *find(from), *at.directory, at.name));
}

void InProcess::make_symlink(const std::string& target, std::string_view path) {
  const Place at = place(path);
  keep(source().make_symlink(request(), *at.directory, at.name, target));
}

std::string InProcess::read_link(std::string_view path) {
  return source().read_link(request(), *find(path));
}

void InProcess::remove(std::string_view path) {
  const Reference removed = find(path);
  const Place at = place(path);
  source().remove_file(request(), *at.directory, at.name);
}

void InProcess::remove_directory(std::string_view path) {
  const Reference removed = find(path);
  const Place at = place(path);
  source().remove_directory(request(), *at.directory, at.name);
}

void InProcess::rename(std::string_view from, std::string_view to, unsigned flags) {
  const Reference moved = find(from);
  const Place old = place(from), target = place(to);
  source().rename(request(), *old.directory, old.name, *target.directory, target.name, flags);
}

Names InProcess::attributes(std::string_view path) {
  Names names = mount_->extended_attributes().list(request(), *find(path));
  std::sort(names.begin(), names.end());
  return names;
}

std::string InProcess::attribute(std::string_view path, const std::string& name) {
  return mount_->attribute(request(), *find(path), name);
}

void InProcess::set_attribute(std::string_view path, const std::string& name,
                              const std::string& value, int flags) {
  mount_->extended_attributes().set(request(), *find(path), name, &value, flags);
}

void InProcess::remove_attribute(std::string_view path, const std::string& name) {
  mount_->extended_attributes().set(request(), *find(path), name, nullptr, 0);
}

void InProcess::set(std::string_view path, const fs::NewAttributes& wanted) {
  source().set_attributes(request(), *find(path), wanted);
}

InProcess::File::File(File&& other) noexcept
    : mount_(other.mount_),
      node_(std::move(other.node_)),
      number_(std::exchange(other.number_, 0)) {}

InProcess::File::~File() {
  if (number_ != 0 && mount_->mount_) mount_->mount_->release(mount_->request(), number_);
}

ByteVector InProcess::File::read(std::int64_t offset, std::int64_t size) const {
  auto& open = handle();
  open.expect_more(offset, size, mount_->caller.user);
  const fs::ReadBytes read = open.read(mount_->request(), offset, size);
  if (const auto* range = std::get_if<fs::DescriptorRange>(&read)) {
    ByteVector bytes(range->size);
    const ssize_t got = ::pread(range->descriptor, bytes.data(), bytes.size(), range->offset);
    require(got, "pread");
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }
  const auto& data = std::get<fs::ReplyData>(read);
  ByteVector bytes(data.size());
  data.copy_to(bytes);
  return bytes;
}

ByteVector InProcess::File::contents() const {
  ByteVector all;
  for (;;) {
    const ByteVector part = read(static_cast<std::int64_t>(all.size()), kRequest);
    all.insert(all.end(), part.begin(), part.end());
    if (static_cast<std::int64_t>(part.size()) < kRequest) return all;
  }
}

void InProcess::File::write(std::optional<std::int64_t> offset, const ByteVector& bytes) const {
  auto& open = handle();
  for (std::size_t done = 0; done < bytes.size();) {
    const codec::Bytes part = codec::Bytes(bytes).subspan(
        done, std::min(bytes.size() - done, static_cast<std::size_t>(kRequest)));
    const fs::WritePlace place{offset.value_or(0) + static_cast<std::int64_t>(done), !offset};
    const std::size_t written = open.write(mount_->request(), place, part);
    wait_for_answer(mount_->mount_->dirty_budget(), open, written);
    done += written;
  }
}

void InProcess::File::truncate(std::int64_t size) const {
  handle().truncate(mount_->request(), size);
}

void InProcess::File::allocate(int mode, std::int64_t offset, std::int64_t size) const {
  handle().allocate(mount_->request(), mode, offset, size);
}

void InProcess::File::sync() const { handle().sync(mount_->request()); }

void InProcess::File::flush() const { handle().flush(mount_->request()); }

struct stat InProcess::File::stat() const {
  return handle().attributes(mount_->request());
}

Names stored_names(const fs_std::path& directory) {
  Names names;
  for (const auto& entry : fs_std::directory_iterator(directory)) {
    const fs_std::path name = entry.path().filename();
    if (!is_lock_file(name)) names.push_back(name.extension() == ".tmp" ? ".tmp" : name.string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ByteVector shown_contents(const fs_std::path& stored) {
  const std::shared_ptr<const frame::Snapshot> snapshot = frame::open_path(stored, {});
  if (!snapshot) throw std::runtime_error(stored.string() + ": no container");
  fs::Stats stats;
  fs::PagePool pages;
  fs::BlockCache cache(std::size_t{32} << 20, pages, stats);
  fs::Request request;
  const fs::FileView view(request, fs::view_shape(snapshot->info(), false),
                          fs::FrameReader(snapshot, 1, 2, cache, stats));
  fs::ReplyData data(pages);
  view.read(request, 0, view.size(), data);
  ByteVector bytes(data.size());
  data.copy_to(bytes);
  return bytes;
}

ByteVector with_bytes(ByteVector contents, std::size_t offset, const ByteVector& bytes) {
  contents.resize(std::max(contents.size(), offset + bytes.size()));
  std::copy(bytes.begin(), bytes.end(), contents.begin() + static_cast<std::ptrdiff_t>(offset));
  return contents;
}

}  // namespace bloscfs::test
