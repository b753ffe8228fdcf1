#include "tests/remote/mounted.hpp"

#include <cstring>
#include <memory>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/remote/nginx.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/digest.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

constexpr std::int64_t kMostRead = 1 << 20, kEndRead = 64 << 10;

std::string error_text() { return strerrorname_np(errno); }

/// Appends the read bytes to `bytes`. False if reading fails, with errno set.
bool read_at(int file, std::int64_t offset, std::int64_t size, ByteVector& bytes) {
  const std::size_t before = bytes.size();
  bytes.resize(before + static_cast<std::size_t>(size));
  for (std::size_t done = before; done < bytes.size();) {
    const auto at = offset + static_cast<std::int64_t>(done - before);
    const ssize_t got = ::pread(file, bytes.data() + done, bytes.size() - done, at);
    if (got < 0) return false;
    if (got == 0) bytes.resize(done);
    done += static_cast<std::size_t>(got);
  }
  return true;
}

std::string bytes_description(const fs_std::path& path, std::int64_t size) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ByteVector bytes;
  if (!file || !read_at(file.get(), 0, std::min(size, kMostRead), bytes)) return error_text();
  const std::int64_t rest = std::min(size - static_cast<std::int64_t>(bytes.size()), kEndRead);
  if (rest > 0 && !read_at(file.get(), size - rest, rest, bytes)) return error_text();
  return sha256(bytes).substr(0, 16);
}

void add_below(const fs_std::path& directory, const std::string& prefix, Shown& shown) {
  errno = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), ::closedir);
  while (listing) {
    errno = 0;
    const dirent* const entry = ::readdir(listing.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string what = description_of(directory / name);
    shown.emplace(prefix + name, what);
    if (what == "directory") add_below(directory / name, prefix + name + "/", shown);
  }
  if (errno != 0) shown.emplace(prefix, error_text());
}

}  // namespace

Precondition needs_fuse_and_nginx(boost::unit_test::test_unit_id id) {
  const Precondition fuse = needs_fuse(id);
  return fuse ? needs_nginx(id) : fuse;
}

MountSettings impatient(std::vector<std::string> options) {
  MountSettings settings;
  settings.options = std::move(options);
  settings.options.emplace_back("retry_time=2");
  return settings;
}

std::string description_of(const fs_std::path& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return error_text();
  if (S_ISDIR(st.st_mode)) return "directory";
  if (S_ISLNK(st.st_mode)) return "link " + fs_std::read_symlink(path).string();
  return std::to_string(st.st_size) + " bytes " + bytes_description(path, st.st_size);
}

Shown shown_below(const fs_std::path& root) {
  Shown shown;
  add_below(root, "", shown);
  return shown;
}

std::vector<std::string> names_in(const fs_std::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs_std::directory_iterator(directory))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string output_of(const Arguments& arguments, Seconds limit) {
  ProcessSettings settings;
  settings.limit = limit;
  const ProcessResult result = run(arguments, settings);
  if (result.timed_out) return "timed out";
  return result.ok() ? result.out : result.err;
}

std::string cat(const fs_std::path& path, Seconds limit) {
  return output_of({"cat", path.string()}, limit);
}

std::string text_of(const ByteVector& bytes) { return {bytes.begin(), bytes.end()}; }

void outlive_knowledge() { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); }

ByteVector large_contents(std::size_t size) { return make_contents("noise", 5, size, 1); }

ByteVector large_object(std::size_t size) {
  return flat_frame(large_contents(size), {4096, 4096, 1, {}, {}});
}

}  // namespace bloscfs::test
