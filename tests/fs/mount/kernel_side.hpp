#pragma once
// The kernel's part in a test of a mount. It looks up a name once, and then uses the node.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/set_clock.hpp"

namespace bloscfs::test {

inline constexpr const char* kNoteAttribute = "user.blosc2.vlmeta.note";

/// Sends operations to a mount, as the kernel does. It keeps each node that it has looked up. It
/// changes names only in the root.
struct KernelSide {
  InProcess& mount;
  SetClock& clock;
  fs::Source& source = mount.source();
  std::map<std::string, Reference> nodes = {};
  std::optional<InProcess::File> file = {};

  void look_up(const std::string& path) { nodes[path] = mount.find(path); }
  void look_up_later(const std::string& path) {
    clock.move(std::chrono::minutes(1));
    look_up(path);
  }
  void look_up_all(const std::string& directory) {
    for (const std::string& name : mount.names(directory)) look_up(directory + "/" + name);
  }
  Reference known(const std::string& path) {
    if (!nodes.contains(path)) look_up(path);
    return nodes[path];
  }
  fs::NodeId node(const std::string& path) { return *known(path); }
  InProcess::File open(const std::string& path, int flags = O_RDONLY) {
    return {mount, known(path), mount->open(mount.request(), node(path), flags).handle};
  }
  void read_attributes(const std::string& path) {
    mount->extended_attributes().list(mount.request(), node(path));
    mount->attribute(mount.request(), node(path), kNoteAttribute);
  }
  /// Does what `ls -l` asks for.
  void list_with_attributes(const std::string& path) {
    const fs::NodeId id = node(path);
    fs::DirectoryHandles& directories = mount->directories();
    const auto number = directories.open(mount.request(), id, directories.listings_begun());
    const auto listing =
        directories.entries(mount.request(), number, true, directories.listings_begun());
    for (const auto& entry : listing->entries)
      if (const auto found = source.enter(mount.request(), id, entry); found && found->id != 0)
        source.forget(found->id, 1);
    directories.release(mount.request(), number);
  }

  void keep(const std::string& name, const fs::FoundNode& made) {
    nodes[name] = {new fs::NodeId(made.id), [this](const fs::NodeId* id) {
                     source.forget(*id, 1);
                     delete id;
                   }};
  }
  static void write(const InProcess::File& file, std::int64_t offset, const std::string& text) {
    file.write(offset, bytes_of(text));
    file.flush();
  }
  void commit() { mount->commit_written(); }
  void create(const std::string& name) {
    auto descriptors = source.take_descriptors(mount.request());
    keep(name, source.create_file(mount.request(), fs::kRootId, name, S_IFREG | 0644));
    const auto opened = mount->open(mount.request(), node(name), O_WRONLY, std::move(descriptors));
    write(InProcess::File(mount, known(name), opened.handle), 0, "text");
  }
  void overwrite(const std::string& path) {
    write(open(path, O_WRONLY | O_TRUNC), 0, "longer text");
    commit();
  }
  void change(const std::string& path) {
    write(open(path, O_RDWR), 5, "x");
    commit();
  }
  void set_attribute(const std::string& path) {
    const std::string value = "x";
    mount->extended_attributes().set(mount.request(), node(path), kNoteAttribute, &value, 0);
  }
  void chmod(const std::string& path) {
    fs::NewAttributes wanted;
    wanted.mode = 0600;
    source.set_attributes(mount.request(), node(path), wanted);
  }
  void rename(const std::string& from, const std::string& to) {
    source.rename(mount.request(), fs::kRootId, from, fs::kRootId, to, 0);
  }
  void remove(const std::string& name) { source.remove_file(mount.request(), fs::kRootId, name); }
  void make_directory(const std::string& name) {
    keep(name, source.make_directory(mount.request(), fs::kRootId, name, 0755));
  }
  void remove_directory(const std::string& name) {
    source.remove_directory(mount.request(), fs::kRootId, name);
  }
};

}  // namespace bloscfs::test
