#include "tests/foreign/oracle.hpp"

#include <algorithm>

#include <sys/stat.h>

namespace bloscfs::test {
namespace {

std::uint8_t byte_at(const ByteVector& bytes, std::size_t at) {
  return at < bytes.size() ? bytes[at] : std::uint8_t{0};
}

void overwrite(ByteVector& contents, std::size_t offset, const ByteVector& bytes) {
  if (contents.size() < offset + bytes.size()) contents.resize(offset + bytes.size());
  std::copy(bytes.begin(), bytes.end(), contents.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace

std::string Conflict::difference(const ByteVector& kept, const ByteVector& theirs) const {
  if (kept.size() != contents.size())
    return "conflict of " + std::to_string(kept.size()) + " bytes for " +
           std::to_string(contents.size());
  for (std::size_t at = 0; at < kept.size(); at++) {
    if (kept[at] == contents[at]) continue;
    const bool was_stored = byte_at(committed, at) == contents[at];
    const bool is_other = kept[at] == 0 || kept[at] == byte_at(theirs, at);
    if (is_whole || !is_other || !was_stored)
      return "conflict differs at byte " + std::to_string(at);
  }
  return {};
}

fs_std::path FileOracle::path_in(const fs_std::path& source) const {
  for (const std::string& name : stored)
    if (fs_std::exists(source / name)) return source / name;
  return source / stored.front();
}

void FileOracle::before_change(const std::optional<FrameState>& stored_state, bool keeps_file) {
  if (is_overtaken) return;
  is_overtaken = true;
  waits_to_replace = false;
  keeps_old_file = keeps_file;
  conflict.reset();
  former.reset();
  if (now) former = now->contents;
  if (!now || !is_dirty) return;
  const ByteVector committed = stored_state ? stored_state->contents : ByteVector();
  const bool is_stored = stored_state && committed == now->contents;
  conflict = Conflict{now->contents, committed, keeps_old_file, !is_stored};
}

void FileOracle::after_change(const std::optional<FrameState>& before,
                              const std::optional<FrameState>& after, bool is_replaced) {
  std::optional<FrameState> next = after;
  std::set<std::string> still_dirty, doubtful;
  for (const std::string& name : dirty_layers) {
    const ByteVector& value = now->layers.at(name);
    const bool is_stored =
        before && before->layers.count(name) != 0 && before->layers.at(name) == value;
    // If the file was removed, the mount may still commit the layers before it notices, or may not.
    // A file that replaces it by rename keeps its own layers.
    if (is_replaced && next) {
      may_lose_layers = true;
    } else if (is_stored || !next) {
      doubtful.insert(name);
    } else {
      next->layers[name] = value;
      still_dirty.insert(name);
    }
  }
  dirty_layers = std::move(still_dirty);
  doubtful_layers.insert(doubtful.begin(), doubtful.end());
  now = std::move(next);
  is_dirty = false;
}

void FileOracle::noticed(const std::optional<ByteVector>& kept) {
  is_overtaken = false;
  if (kept && !conflict) throw Violation(shown + ": a conflict where nothing waited");
  if (!kept && conflict && conflict->is_certain)
    throw Violation(shown + ": what waited is neither committed nor kept");
  if (kept) {
    const std::string difference = conflict->difference(*kept, now ? now->contents : ByteVector());
    if (!difference.empty()) throw Violation(shown + ": " + difference);
  }
  conflict.reset();
  for (const auto& writer : writers) {
    if (kept)
      (writer->was_reported_late ? writer->may_report_stale : writer->must_report_stale) = true;
    if (!writer->must_report_stale && may_lose_layers) writer->may_report_stale = true;
    writer->was_reported_late = false;
    writer->is_orphan |= !now;
  }
  may_lose_layers = false;
}

void FileOracle::written_to_former(std::size_t offset, const ByteVector& bytes) {
  if (!former) throw Violation(shown + ": contents were lost of a file that was not there");
  if (!conflict) conflict = Conflict{*former, *former, keeps_old_file, true};
  // These bytes are not in SOURCE, so the mount must save them.
  conflict->is_certain = true;
  overwrite(conflict->contents, offset, bytes);
}

void FileOracle::written(std::size_t offset, const ByteVector& bytes) {
  overwrite(now->contents, offset, bytes);
  is_dirty = true;
}

void FileOracle::resized(std::size_t size) {
  now->contents.resize(size);
  is_dirty = true;
}

void FileOracle::committed() {
  waits_to_replace = false;
  is_dirty = false;
  dirty_layers.clear();
}

ino_t inode_of(const fs_std::path& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 ? st.st_ino : 0;
}

}  // namespace bloscfs::test
