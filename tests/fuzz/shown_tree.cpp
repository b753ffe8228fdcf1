#include "tests/fuzz/shown_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>

#include <sys/stat.h>

#include "tests/fuzz/known_files.hpp"

namespace bloscfs::fuzz {
namespace {

constexpr std::size_t kMostShown = 64;
constexpr std::uint32_t kListing = 16 << 10;
constexpr std::uint32_t kRead = 8 << 10;

std::vector<std::string> names_in(FuseChannel& channel, std::uint64_t directory) {
  std::vector<std::string> names;
  const auto opened = channel.ask(FUSE_OPENDIR, directory, {as_bytes(fuse_open_in{})});
  if (opened.error != 0) return names;
  fuse_read_in read{};
  read.fh = opened.as<fuse_open_out>().fh;
  read.size = kListing;
  const auto listed = channel.ask(FUSE_READDIR, directory, {as_bytes(read)});
  for (std::size_t at = 0; at + FUSE_NAME_OFFSET <= listed.bytes.size();) {
    fuse_dirent entry;
    std::memcpy(&entry, listed.bytes.data() + at, FUSE_NAME_OFFSET);
    const auto* const name = listed.bytes.data() + at + FUSE_NAME_OFFSET;
    names.emplace_back(name, name + entry.namelen);
    at += FUSE_DIRENT_SIZE(&entry);
  }
  fuse_release_in release{};
  release.fh = read.fh;
  channel.ask(FUSE_RELEASEDIR, directory, {as_bytes(release)});
  return names;
}

std::optional<std::vector<std::uint8_t>> read_ends(FuseChannel& channel, std::uint64_t node,
                                                   std::uint64_t size) {
  const auto opened = channel.ask(FUSE_OPEN, node, {as_bytes(fuse_open_in{})});
  if (opened.error != 0) return std::nullopt;
  fuse_read_in read{};
  read.fh = opened.as<fuse_open_out>().fh;
  read.size = kRead;
  auto first = channel.ask(FUSE_READ, node, {as_bytes(read)});
  read.offset = size - std::min<std::uint64_t>(size, kRead);
  const auto last = channel.ask(FUSE_READ, node, {as_bytes(read)});
  fuse_release_in release{};
  release.fh = read.fh;
  channel.ask(FUSE_RELEASE, node, {as_bytes(release)});
  if (first.error != 0 || last.error != 0) return std::nullopt;
  first.bytes.insert(first.bytes.end(), last.bytes.begin(), last.bytes.end());
  return std::move(first.bytes);
}

void read_directory(FuseChannel& channel, std::uint64_t directory, const std::string& path,
                    ShownTree& tree) {
  for (const std::string& name : names_in(channel, directory)) {
    if (name == "." || name == ".." || tree.size() >= kMostShown) continue;
    ShownFile& file = tree[path + name];
    const auto found = channel.ask(FUSE_LOOKUP, directory, {as_bytes(name)});
    const auto entry = found.as<fuse_entry_out>();
    if (found.error != 0 || entry.nodeid == 0) continue;
    file.type = entry.attr.mode & S_IFMT;
    if (S_ISREG(entry.attr.mode)) {
      file.size = entry.attr.size;
      file.bytes = read_ends(channel, entry.nodeid, file.size);
    } else if (S_ISLNK(entry.attr.mode)) {
      auto text = channel.ask(FUSE_READLINK, entry.nodeid, {});
      if (text.error == 0) file.bytes = std::move(text.bytes);
    } else if (S_ISDIR(entry.attr.mode)) {
      read_directory(channel, entry.nodeid, path + name + "/", tree);
    }
    channel.tell(FUSE_FORGET, entry.nodeid, {as_bytes(fuse_forget_in{1})});
  }
}

std::string stem_of(const std::filesystem::path& path) { return path.parent_path() / path.stem(); }

void require_same(const std::string& name, const ShownFile& before, const ShownFile& now) {
  if (!before.bytes) return;
  if (now.type != before.type) fail(name + " is of another type");
  if (now.size != before.size)
    fail(name + " has " + std::to_string(now.size) + " bytes, not " + std::to_string(before.size));
  if (!now.bytes) fail(name + " cannot be read any more");
  if (*now.bytes != *before.bytes) fail(name + " has other bytes");
}

}  // namespace

ShownTree read_tree(FuseChannel& channel) {
  ShownTree tree;
  read_directory(channel, FUSE_ROOT_ID, "", tree);
  return tree;
}

void require_same(const ShownTree& before, const ShownTree& after) {
  std::map<std::string, const ShownFile*> appeared;
  for (const auto& [path, file] : after)
    if (!before.contains(path)) appeared.emplace(path, &file);
  for (const auto& [path, file] : before) {
    const auto found = after.find(path);
    if (found != after.end()) {
      require_same(path, file, found->second);
      continue;
    }
    const auto renamed = std::find_if(
        appeared.begin(), appeared.end(),
        [&, stem = stem_of(path)](const auto& other) { return stem_of(other.first) == stem; });
    if (renamed == appeared.end()) fail(path + " is gone");
    require_same(path + ", now " + renamed->first, file, *renamed->second);
    appeared.erase(renamed);
  }
  if (!appeared.empty()) fail(appeared.begin()->first + " was not there");
}

}  // namespace bloscfs::fuzz
