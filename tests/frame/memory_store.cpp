#include "tests/frame/memory_store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace bloscfs::frame::test {
namespace {

using Kind = StoreOperation::Kind;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

StoreOperation operation(Kind kind, std::uint64_t node) {
  StoreOperation result{};
  result.kind = kind;
  result.node = node;
  return result;
}

class MemoryFile final : public StoreFile {
 public:
  MemoryFile(std::shared_ptr<MemoryDisk> disk, std::uint64_t node)
      : disk_(std::move(disk)), node_(node) {}

  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override {
    const Buffer& bytes = node().bytes;
    if (out.empty() || offset >= bytes.size()) return 0;
    const std::size_t size = std::min<std::size_t>(out.size(), bytes.size() - offset);
    std::memcpy(out.data(), bytes.data() + offset, size);
    return size;
  }
  FileStamp stamp() const override {
    return {1, node_, static_cast<std::int64_t>(node().bytes.size()), 0, node().mtime_ns};
  }
  void write_at(std::uint64_t offset, Bytes bytes) override {
    StoreOperation write = operation(Kind::write, node_);
    write.offset = offset;
    write.bytes.assign(bytes.begin(), bytes.end());
    disk_->perform(std::move(write));
  }
  void truncate(std::uint64_t size) override {
    StoreOperation truncate = operation(Kind::truncate, node_);
    truncate.size = size;
    disk_->perform(std::move(truncate));
  }
  void punch(std::uint64_t offset, std::uint64_t size) override {
    StoreOperation punch = operation(Kind::punch, node_);
    punch.offset = offset;
    punch.size = size;
    disk_->perform(std::move(punch));
  }
  void sync() override { disk_->perform(operation(Kind::sync_file, node_)); }
  std::uint64_t link_count() const override { return node().links; }
  FileAttributes attributes() const override { return node().attributes; }
  void set_attributes(const FileAttributes& attributes) override {
    disk_->perform(operation(Kind::attributes, node_));
    disk_->nodes.at(node_).attributes = attributes;
  }
  void set_times(const timespec& accessed, const timespec& modified) override {
    disk_->perform(operation(Kind::attributes, node_));
    disk_->nodes.at(node_).attributes.accessed = accessed;
    disk_->nodes.at(node_).attributes.modified = modified;
  }
  bool is_sole_user() const override { return disk_->sole_user; }

 private:
  const MemoryNode& node() const { return disk_->nodes.at(node_); }

  std::shared_ptr<MemoryDisk> disk_;
  std::uint64_t node_;
};

class MemoryDirectory final : public StoreDirectory {
 public:
  MemoryDirectory(std::shared_ptr<MemoryDisk> disk, std::uint64_t node)
      : disk_(std::move(disk)), node_(node) {}

  std::shared_ptr<StoreFile> open(const std::string& name) override {
    const std::uint64_t found = disk_->find(node_, name);
    if (found == 0) fail(ENOENT, name);
    return std::make_shared<MemoryFile>(disk_, found);
  }
  std::shared_ptr<const ByteSource> open_source(const std::string& name) const override {
    const std::uint64_t found = disk_->find(node_, name);
    if (found == 0) return nullptr;
    return std::make_shared<MemoryFile>(disk_, found);
  }
  std::shared_ptr<StoreFile> create(const std::string& name, mode_t mode) override {
    return std::make_shared<MemoryFile>(disk_, make(Kind::create, name, mode));
  }
  void rename(const std::string& from, const std::string& to, RenameMode mode) override {
    if (disk_->find(node_, from) == 0) fail(ENOENT, from);
    if (mode == RenameMode::no_replace && disk_->find(node_, to) != 0) fail(EEXIST, to);
    const bool exchanges = mode == RenameMode::exchange;
    if (exchanges && disk_->find(node_, to) == 0) fail(ENOENT, to);
    StoreOperation rename = operation(exchanges ? Kind::exchange : Kind::rename, node_);
    rename.other = disk_->find(node_, to);
    rename.name = from;
    rename.to = to;
    rename.to_node = node_;
    rename.target = disk_->find(node_, from);
    disk_->perform(std::move(rename));
  }
  void unlink(const std::string& name) override {
    if (disk_->find(node_, name) == 0) fail(ENOENT, name);
    StoreOperation unlink = operation(Kind::unlink, node_);
    unlink.name = name;
    unlink.target = disk_->find(node_, name);
    disk_->perform(std::move(unlink));
  }
  void make_directory(const std::string& name, mode_t mode) override {
    make(Kind::make_directory, name, mode);
  }
  std::shared_ptr<StoreDirectory> open_directory(const std::string& name) override {
    const std::uint64_t found = disk_->find(node_, name);
    if (found == 0) fail(ENOENT, name);
    return std::make_shared<MemoryDirectory>(disk_, found);
  }
  std::optional<FileStamp> stamp(const std::string& name) const override {
    const std::uint64_t found = disk_->find(node_, name);
    if (found == 0) return std::nullopt;
    return MemoryFile(disk_, found).stamp();
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> result;
    for (const auto& entry : disk_->nodes.at(node_).entries) result.push_back(entry.first);
    return result;
  }
  void sync() override { disk_->perform(operation(Kind::sync_directory, node_)); }
  int descriptor() const override { return -1; }

 private:
  std::uint64_t make(Kind kind, const std::string& name, mode_t mode) {
    if (disk_->find(node_, name) != 0) fail(EEXIST, name);
    StoreOperation create = operation(kind, node_);
    create.name = name;
    MemoryNode node;
    node.attributes.mode = mode;
    node.is_directory = kind == Kind::make_directory;
    create.target = disk_->add_node(node);
    const std::uint64_t target = create.target;
    disk_->perform(std::move(create));
    return target;
  }

  std::shared_ptr<MemoryDisk> disk_;
  std::uint64_t node_;
};

}  // namespace

std::shared_ptr<MemoryDisk> MemoryDisk::make() {
  auto disk = std::make_shared<MemoryDisk>();
  MemoryNode root;
  root.is_directory = true;
  disk->nodes[kRoot] = root;
  return disk;
}

std::shared_ptr<MemoryDisk> MemoryDisk::clone() const {
  auto disk = make();
  disk->nodes = nodes;
  disk->next_node_ = next_node_;
  return disk;
}

std::shared_ptr<StoreDirectory> MemoryDisk::root() {
  return std::make_shared<MemoryDirectory>(shared_from_this(), kRoot);
}

void MemoryDisk::put(const std::string& name, Buffer bytes) {
  MemoryNode node;
  node.bytes = std::move(bytes);
  node.attributes.mode = 0644;
  nodes.at(kRoot).entries[name] = add_node(std::move(node));
}

std::uint64_t MemoryDisk::add_node(MemoryNode node) {
  nodes[next_node_] = std::move(node);
  return next_node_++;
}

std::uint64_t MemoryDisk::find(std::uint64_t directory, const std::string& name) const {
  const auto& entries = nodes.at(directory).entries;
  const auto found = entries.find(name);
  return found == entries.end() ? 0 : found->second;
}

namespace {

std::uint64_t find_path(const MemoryDisk& disk, const std::string& path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos) return disk.find(MemoryDisk::kRoot, path);
  const std::uint64_t directory = disk.find(MemoryDisk::kRoot, path.substr(0, slash));
  return directory == 0 ? 0 : disk.find(directory, path.substr(slash + 1));
}

}  // namespace

const Buffer& MemoryDisk::bytes(const std::string& path) const {
  return nodes.at(find_path(*this, path)).bytes;
}

bool MemoryDisk::exists(const std::string& path) const { return find_path(*this, path) != 0; }

std::vector<std::string> MemoryDisk::names() const {
  std::vector<std::string> result;
  for (const auto& entry : nodes.at(kRoot).entries) result.push_back(entry.first);
  return result;
}

std::uint64_t MemoryDisk::bytes_written() const {
  std::uint64_t sum = 0;
  for (const StoreOperation& operation : log) sum += operation.bytes.size();
  return sum;
}

void MemoryDisk::perform(StoreOperation operation) {
  before_each(operation);
  apply(operation);
  log.push_back(std::move(operation));
}

namespace {

void remove_entry(MemoryNode& directory, const StoreOperation& operation) {
  const auto entry = directory.entries.find(operation.name);
  if (entry != directory.entries.end() && entry->second == operation.target)
    directory.entries.erase(entry);
}

}  // namespace

void MemoryDisk::apply(const StoreOperation& operation) {
  MemoryNode& node = nodes.at(operation.node);
  node.mtime_ns = ++clock_;
  const std::uint64_t end = operation.offset + operation.bytes.size();
  switch (operation.kind) {
    case Kind::write:
      if (node.bytes.size() < end) node.bytes.resize(end);
      std::copy(operation.bytes.begin(), operation.bytes.end(),
                node.bytes.begin() + static_cast<std::ptrdiff_t>(operation.offset));
      return;
    case Kind::truncate:
      node.bytes.resize(operation.size);
      return;
    case Kind::punch: {
      const auto size = static_cast<std::uint64_t>(node.bytes.size());
      const auto first =
          node.bytes.begin() + static_cast<std::ptrdiff_t>(std::min(operation.offset, size));
      const auto last = node.bytes.begin() + static_cast<std::ptrdiff_t>(
                                                 std::min(operation.offset + operation.size, size));
      std::fill(first, last, std::uint8_t{0});
      return;
    }
    case Kind::create:
    case Kind::link:
    case Kind::make_directory:
      node.entries[operation.name] = operation.target;
      return;
    case Kind::rename:
      remove_entry(node, operation);
      nodes.at(operation.to_node).entries[operation.to] = operation.target;
      return;
    case Kind::exchange:
      node.entries[operation.name] = operation.other;
      nodes.at(operation.to_node).entries[operation.to] = operation.target;
      return;
    case Kind::unlink:
      remove_entry(node, operation);
      return;
    case Kind::sync_file:
    case Kind::attributes:
    case Kind::sync_directory:
    case Kind::sync_all:
      return;
  }
}

void fail_from(MemoryDisk& disk, std::size_t number, int error) {
  const std::size_t at = disk.log.size() + number;
  disk.before_each = [&disk, at, error](const StoreOperation&) {
    if (disk.log.size() >= at) fail(error, "injected");
  };
}

void fail_at(MemoryDisk& disk, std::size_t number, int error) {
  const std::size_t at = disk.log.size() + number;
  disk.before_each = [&disk, at, error, failed = false](const StoreOperation&) mutable {
    if (failed || disk.log.size() < at) return;
    failed = true;
    fail(error, "injected");
  };
}

void stop_failing(MemoryDisk& disk) {
  disk.before_each = [](const StoreOperation&) {};
}

}  // namespace bloscfs::frame::test
