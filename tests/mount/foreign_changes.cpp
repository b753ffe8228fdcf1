#include "tests/mount/foreign_changes.hpp"

#include <algorithm>
#include <regex>
#include <stdexcept>

#include <fcntl.h>

#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/peer.hpp"

namespace bloscfs::test {

void replace_by_rename(const fs_std::path& stored, const ByteVector& bytes) {
  const fs_std::path fresh = stored.parent_path() / ".fresh";
  write_file(fresh, bytes);
  fs_std::rename(fresh, stored);
}

const std::vector<ForeignChange>& foreign_changes() {
  static const std::vector<ForeignChange> changes = {
      {"replaced by rename",
       [](const fs_std::path& stored, const ByteVector& contents) {
         replace_by_rename(stored, flat_frame(contents));
       },
       true},
      {"overwritten in place",
       [](const fs_std::path& stored, const ByteVector& contents) {
         write_file(stored, flat_frame(contents));
       },
       false}};
  return changes;
}

void edit_frame(const fs_std::path& stored, const std::vector<FrameAction>& actions) {
  FrameRequest request;
  request.path = stored;
  request.actions = actions;
  const auto result = run_frame_editor(request);
  if (!result.ok()) throw std::runtime_error(result.description());
}

void set_note(const fs_std::path& stored, const std::string& text) {
  const TempDir home;
  write_file(home / "note", text);
  const auto result =
      run({b2frame_program(), "set-meta", stored.string(), "note=" + (home / "note").string()});
  if (!result.ok()) throw std::runtime_error(result.description());
}

std::vector<std::string> conflicts_of(const fs_std::path& directory, const std::string& name) {
  const std::string start = name + ".conflict-";
  const std::regex rest("[0-9]{8}T[0-9]{6}(-[0-9]+)?\\.b2frame");
  std::vector<std::string> found;
  for (const auto& entry : fs_std::directory_iterator(directory)) {
    const std::string stored = entry.path().filename();
    if (stored.starts_with(start) && std::regex_match(stored.substr(start.size()), rest))
      found.push_back(stored);
  }
  std::sort(found.begin(), found.end());
  return found;
}

fs_std::path conflict_of(const fs_std::path& directory, const std::string& name) {
  const auto found = conflicts_of(directory, name);
  if (found.size() != 1)
    throw std::runtime_error(std::to_string(found.size()) + " conflicts of " + name);
  return directory / found.front();
}

ByteVector stored_contents(const fs_std::path& stored) {
  const TempDir home;
  const fs_std::path out = home / "contents";
  const auto result = run({b2frame_program(), "extract", stored.string(), "-o", out.string()});
  if (!result.ok()) throw std::runtime_error(result.description());
  return read_file(out);
}

Fd open_rw(const fs_std::path& path, int flags) {
  Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0644));
  if (!file) throw_errno("open " + path.string());
  return file;
}

ByteVector read_at(const Fd& file, off_t offset, std::size_t size) {
  ByteVector bytes(size);
  const ssize_t got = pread(file.get(), bytes.data(), size, offset);
  if (got < 0) throw_errno("pread");
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

void write_at(const Fd& file, off_t offset, const ByteVector& bytes) {
  const ssize_t put = pwrite(file.get(), bytes.data(), bytes.size(), offset);
  if (put < 0) throw_errno("pwrite");
  if (put != std::ssize(bytes)) throw std::runtime_error("a short write");
}

ByteVector patched(ByteVector contents, std::size_t offset, const ByteVector& bytes) {
  contents.resize(std::max(contents.size(), offset + bytes.size()));
  std::copy(bytes.begin(), bytes.end(), contents.begin() + static_cast<std::ptrdiff_t>(offset));
  return contents;
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

}  // namespace bloscfs::test
