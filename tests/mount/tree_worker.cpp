#include "tests/mount/tree_worker.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/pause.hpp"

namespace bloscfs::test {
namespace {

constexpr int kLargest = 40000;
constexpr int kLarge = 700000;
constexpr std::size_t kPageSize = 4096;
/// Small limits, so that names are used again and again.
constexpr std::size_t kMostFiles = 14, kMostDirectories = 4;

bool is_array_name(const std::string& name) { return name.ends_with(".npy"); }

}  // namespace

void TreeWorker::adopt_sparse(const std::string& name, const ByteVector& contents) {
  sparse_ = history_.add_file(contents, 0);
  contents_[sparse_] = contents;
  history_.name({{{TreeHistory::kRoot, name}, sparse_}}, 0);
  history_.file_is_durable(sparse_, 0);
  history_.directory_is_durable(TreeHistory::kRoot, 0);
}

void TreeWorker::work(int operations) {
  using Step = void (TreeWorker::*)();
  using This = TreeWorker;
  static const std::vector<Step> steps = {
      &This::create,         &This::create,         &This::create,           &This::create_large,
      &This::overwrite,      &This::overwrite,      &This::append,           &This::resize,
      &This::punch,          &This::sync_file,      &This::sync_file,        &This::link,
      &This::rename,         &This::rename,         &This::exchange,         &This::unlink,
      &This::make_directory, &This::make_directory, &This::remove_directory, &This::move_directory,
      &This::move_directory, &This::sync_directory};
  for (int i = 0; i < operations; ++i) (this->*pick(random_, steps))();
}

// --- choosing

fs_std::path TreeWorker::directory_path(Object directory) const {
  return directory == TreeHistory::kRoot ? mount_ : path(history_.names_of(directory).front());
}

fs_std::path TreeWorker::path(const Entry& entry) const {
  return directory_path(entry.first) / entry.second;
}

bool TreeWorker::is_within(Object directory, Object other) const {
  while (directory != other && directory != TreeHistory::kRoot)
    directory = history_.names_of(directory).front().first;
  return directory == other;
}

std::vector<TreeWorker::Entry> TreeWorker::some_entries(bool directories) const {
  std::vector<Entry> result;
  for (const auto& [entry, object] : history_.entries())
    if (history_.is_directory(object) == directories) result.push_back(entry);
  return result;
}

std::optional<TreeWorker::Entry> TreeWorker::any(bool is_directory) {
  const auto entries = some_entries(is_directory);
  if (entries.empty()) return std::nullopt;
  return pick(random_, entries);
}

TreeWorker::Object TreeWorker::any_directory() {
  const auto entry = any(true);
  return !entry || one_in(random_, 3) ? TreeHistory::kRoot : history_.at(*entry);
}

TreeWorker::Entry TreeWorker::any_name() {
  static const std::vector<std::string> names = {"a", "b", "c", "s", "x.npy", "y.npy"};
  return {any_directory(), pick(random_, names)};
}

ByteVector TreeWorker::some_bytes(int largest) {
  const auto size = static_cast<std::size_t>(between(random_, 1, largest));
  return make_contents(one_in(random_, 2) ? "noise" : "text", random_(), size, 1);
}

/// Returns the bytes of an NPY file every second time, else random bytes.
ByteVector TreeWorker::first_contents() {
  if (one_in(random_, 2)) return some_bytes(kLargest);
  const std::int64_t rows = between(random_, 1, kLargest / 8);
  ByteVector file = bytes_of(npy_header("<f8", {rows}));
  const auto items = make_contents("floats", random_(), static_cast<std::size_t>(rows) * 8, 8);
  file.insert(file.end(), items.begin(), items.end());
  return file;
}

bool TreeWorker::is_bound(Object file) const {
  const auto names = history_.names_of(file);
  return names.size() > 1 && std::all_of(names.begin(), names.end(), [](const Entry& entry) {
           return is_array_name(entry.second);
         });
}

// --- contents

template <typename Fill>
void TreeWorker::create_and(Fill fill) {
  const Entry entry = any_name();
  if (history_.at(entry) != kNone || some_entries(false).size() >= kMostFiles) return;
  const auto began = recording_.size();
  const Fd fd(open(path(entry).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) throw_errno("create " + path(entry).string());
  const Object file = history_.add_file({}, began);
  history_.name({{entry, file}}, began);
  fill(fd, file);
}

void TreeWorker::create() {
  create_and([&](const Fd& fd, Object file) {
    write(fd, file, 0, first_contents());
    if (one_in(random_, 4)) sync(fd, file);
  });
}

/// Writes more than half of the dirty limit at a time, so that the file is staged while it is open.
void TreeWorker::create_large() {
  create_and([&](const Fd& fd, Object file) {
    for (int i = 0; i < 3; ++i) {
      const auto offset = static_cast<std::size_t>(between(random_, 0, kLarge));
      write(fd, file, offset, ByteVector(kLarge, static_cast<std::uint8_t>(random_())));
      write(fd, file, offset, some_bytes(3000));
      pause_at_random(random_, std::chrono::milliseconds(4));
    }
    if (one_in(random_, 2)) sync(fd, file);
    resize(fd, file, static_cast<std::size_t>(between(random_, 0, kLargest)));
  });
}

template <typename Act>
void TreeWorker::change(Act act) {
  const auto entry = any(false);
  if (!entry) return;
  const Object file = history_.at(*entry);
  const Fd fd(open(path(*entry).c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) throw_errno("open " + path(*entry).string());
  act(fd, file, contents_[file].size());
}

void TreeWorker::overwrite() {
  change([&](const Fd& fd, Object file, std::size_t size) {
    if (is_bound(file)) return;
    const auto offset = static_cast<std::size_t>(between(random_, 0, static_cast<int>(size)));
    write(fd, file, offset, some_bytes(3000));
  });
}

void TreeWorker::append() {
  change([&](const Fd& fd, Object file, std::size_t size) {
    if (!is_bound(file)) write(fd, file, size, some_bytes(8000));
  });
}

void TreeWorker::resize() {
  change([&](const Fd& fd, Object file, std::size_t) {
    if (is_bound(file)) return;
    resize(fd, file, static_cast<std::size_t>(between(random_, 0, kLargest)));
  });
}

void TreeWorker::resize(const Fd& fd, Object file, std::size_t size) {
  const auto began = recording_.size();
  if (ftruncate(fd.get(), static_cast<off_t>(size)) != 0) throw_errno("ftruncate");
  contents_[file].resize(size);
  history_.write(file, contents_[file], began);
}

void TreeWorker::punch() {
  change([&](const Fd& fd, Object file, std::size_t size) {
    if (is_bound(file)) return;
    const int offset = between(random_, 0, static_cast<int>(size));
    const int length = between(random_, 1, kLargest);
    const auto began = recording_.size();
    if (fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) != 0)
      throw_errno("punch");
    ByteVector& bytes = contents_[file];
    const auto end = std::min(size, static_cast<std::size_t>(offset + length));
    std::fill(bytes.begin() + offset, bytes.begin() + static_cast<std::ptrdiff_t>(end),
              std::uint8_t{0});
    history_.write(file, bytes, began);
  });
}

void TreeWorker::sync_file() {
  change([&](const Fd& fd, Object file, std::size_t) { sync(fd, file); });
}

void TreeWorker::write(const Fd& fd, Object file, std::size_t offset, const ByteVector& bytes) {
  const auto began = recording_.size();
  if (pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) != std::ssize(bytes))
    throw_errno("pwrite");
  ByteVector& contents = contents_[file];
  // The kernel splits the bytes at page borders. Any number of the first parts may be committed.
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t at = offset + done;
    const std::size_t part = std::min(bytes.size() - done, kPageSize - at % kPageSize);
    contents.resize(std::max(contents.size(), at + part));
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(done), part,
                contents.begin() + static_cast<std::ptrdiff_t>(at));
    history_.write(file, contents, began);
    done += part;
  }
}

void TreeWorker::sync(const Fd& fd, Object file) {
  if (fsync(fd.get()) != 0) throw_errno("fsync");
  history_.file_is_durable(file, recording_.size());
}

// --- names of files

void TreeWorker::link() {
  const auto from = any(false);
  const Entry to = any_name();
  if (!from || history_.at(to) != kNone) return;
  const Object file = history_.at(*from);
  const bool has_links = history_.names_of(file).size() > 1;
  if (file == sparse_ || (has_links && is_array_name(from->second) && !is_array_name(to.second)))
    return;
  const auto began = recording_.size();
  if (::link(path(*from).c_str(), path(to).c_str()) != 0)
    throw_errno("link " + path(*from).string() + " as " + path(to).string());
  history_.name({{to, file}}, began);
}

void TreeWorker::rename() {
  const auto from = any(false);
  const Entry to = any_name();
  if (!from || *from == to) return;
  const Object file = history_.at(*from), replaced = history_.at(to);
  if (replaced != kNone && history_.is_directory(replaced)) return;
  if (is_bound(file) && !is_array_name(to.second)) return;
  // A file and a directory cannot replace each other. They are exchanged, and then the old one is
  // removed.
  const bool in_two_steps =
      replaced != kNone && replaced != file && (file == sparse_ || replaced == sparse_);
  if (in_two_steps && (is_array_name(from->second) || is_array_name(to.second))) return;
  if (in_two_steps) sync(to.first);
  const auto began = recording_.size();
  if (::rename(path(*from).c_str(), path(to).c_str()) != 0)
    throw_errno("rename " + path(*from).string() + " to " + path(to).string());
  if (file == replaced) return;
  history_.name({{*from, in_two_steps ? replaced : kNone}, {to, file}}, began);
  if (in_two_steps) history_.name({{*from, kNone}}, began);
}

void TreeWorker::exchange() {
  const auto one = any(false), other = any(false);
  if (!one || history_.at(*one) == history_.at(*other)) return;
  if ((is_bound(history_.at(*one)) && !is_array_name(other->second)) ||
      (is_bound(history_.at(*other)) && !is_array_name(one->second)))
    return;
  exchange(*one, *other);
}

void TreeWorker::exchange(const Entry& one, const Entry& other) {
  const auto began = recording_.size();
  if (renameat2(AT_FDCWD, path(one).c_str(), AT_FDCWD, path(other).c_str(), RENAME_EXCHANGE) != 0)
    throw_errno("exchange " + path(one).string() + " and " + path(other).string());
  history_.name({{one, history_.at(other)}, {other, history_.at(one)}}, began);
}

void TreeWorker::unlink() {
  if (const auto entry = any(false)) unlink(*entry);
}

void TreeWorker::unlink(const Entry& entry) {
  const auto began = recording_.size();
  if (::unlink(path(entry).c_str()) != 0) throw_errno("unlink " + path(entry).string());
  history_.name({{entry, kNone}}, began);
}

// --- directories

void TreeWorker::make_directory() {
  const Entry entry = any_name();
  if (history_.at(entry) != kNone || some_entries(true).size() >= kMostDirectories) return;
  const auto began = recording_.size();
  if (mkdir(path(entry).c_str(), 0755) != 0) throw_errno("mkdir " + path(entry).string());
  history_.name({{entry, history_.add_directory()}}, began);
}

void TreeWorker::remove_directory() {
  const auto entry = any(true);
  if (!entry) return;
  const Object directory = history_.at(*entry);
  for (const auto& [inside, object] : history_.entries()) {
    if (inside.first != directory) continue;
    if (history_.is_directory(object)) return;
    unlink(inside);
  }
  const auto began = recording_.size();
  if (rmdir(path(*entry).c_str()) != 0) throw_errno("rmdir " + path(*entry).string());
  history_.name({{*entry, kNone}}, began);
}

void TreeWorker::move_directory() {
  const auto from = any(true);
  if (!from) return;
  const Entry to = one_in(random_, 3) ? *any(true) : any_name();
  if (*from == to) return;
  const Object directory = history_.at(*from), replaced = history_.at(to);
  if (is_within(to.first, directory)) return;
  if (replaced != kNone) {
    if (!history_.is_directory(replaced) || is_within(directory, replaced)) return;
    if (one_in(random_, 2)) return exchange(*from, to);
    for (const auto& [inside, object] : history_.entries())
      if (inside.first == replaced) return;
  }
  const auto began = recording_.size();
  if (::rename(path(*from).c_str(), path(to).c_str()) != 0)
    throw_errno("rename " + path(*from).string() + " to " + path(to).string());
  history_.name({{*from, kNone}, {to, directory}}, began);
}

void TreeWorker::sync_directory() { sync(any_directory()); }

void TreeWorker::sync(Object directory) {
  const Fd fd(open(directory_path(directory).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0) throw_errno("fsync of a directory");
  history_.directory_is_durable(directory, recording_.size());
}

}  // namespace bloscfs::test
