#include "tests/mount/store_recording.hpp"

#include <cstring>
#include <stdexcept>

#include <sys/stat.h>

#include "tests/support/store_record.hpp"

namespace bloscfs::test {
namespace {

using frame::test::MemoryDisk;
using frame::test::MemoryNode;
using frame::test::StoreOperation;
using Kind = StoreOperation::Kind;

std::uint64_t inode_of(const fs_std::path& path) {
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) throw_errno("lstat");
  return st.st_ino;
}

Kind kind_of(StoreCall call) {
  switch (call) {
    case StoreCall::write:
      return Kind::write;
    case StoreCall::truncate:
      return Kind::truncate;
    case StoreCall::punch:
      return Kind::punch;
    case StoreCall::sync_file:
      return Kind::sync_file;
    case StoreCall::create:
      return Kind::create;
    case StoreCall::link:
      return Kind::link;
    case StoreCall::rename:
      return Kind::rename;
    case StoreCall::exchange:
      return Kind::exchange;
    case StoreCall::unlink:
      return Kind::unlink;
    case StoreCall::make_directory:
      return Kind::make_directory;
    case StoreCall::sync_directory:
      return Kind::sync_directory;
    case StoreCall::sync_all:
      return Kind::sync_all;
  }
  throw std::runtime_error("unknown record");
}

/// Parses the records of the recorder's file, and replaces inode numbers by node numbers.
class Parser {
 public:
  Parser(const ByteVector& bytes, std::map<std::uint64_t, std::uint64_t> nodes)
      : bytes_(bytes), nodes_(std::move(nodes)), next_node_(nodes_.size() + MemoryDisk::kRoot) {}

  std::vector<RecordedStep> run() {
    std::vector<RecordedStep> steps;
    while (at_ < bytes_.size()) {
      StoreRecord record;
      std::memcpy(&record, take(sizeof record), sizeof record);
      StoreOperation operation{};
      operation.kind = kind_of(record.call);
      operation.name = text(record.name_size);
      operation.to = text(record.other_name_size);
      const std::uint8_t* const written = take(record.byte_count);
      operation.bytes.assign(written, written + record.byte_count);
      operation.offset = record.offset;
      operation.size = record.size;
      if (operation.kind == Kind::create || operation.kind == Kind::make_directory)
        nodes_[record.target] = ++next_node_;  // an inode number may be used again
      operation.node = node(record.node);
      operation.to_node = node(record.other_node);
      operation.target = node(record.target);
      operation.other = operation.kind == Kind::exchange ? node(record.exchanged) : 0;
      steps.push_back({at_, std::move(operation)});
    }
    return steps;
  }

 private:
  const std::uint8_t* take(std::size_t size) {
    if (size > bytes_.size() - at_) throw std::runtime_error("record is cut short");
    at_ += size;
    return bytes_.data() + at_ - size;
  }
  std::string text(std::size_t size) {
    const std::uint8_t* const begin = take(size);
    return {begin, begin + size};
  }
  std::uint64_t node(std::uint64_t inode) const { return inode == 0 ? 0 : nodes_.at(inode); }

  const ByteVector& bytes_;
  std::size_t at_ = 0;
  std::map<std::uint64_t, std::uint64_t> nodes_;
  std::uint64_t next_node_;
};

}  // namespace

StoreRecording::StoreRecording(const fs_std::path& source) : before_(MemoryDisk::make()) {
  write_file(home_ / "record", ByteVector());
  nodes_[inode_of(source)] = MemoryDisk::kRoot;
  scan(source, MemoryDisk::kRoot);
}

void StoreRecording::scan(const fs_std::path& directory, std::uint64_t node) {
  for (const auto& entry : fs_std::directory_iterator(directory)) {
    MemoryNode found;
    found.is_directory = entry.is_directory();
    if (!found.is_directory) found.bytes = read_file(entry.path());
    const std::uint64_t number = before_->add_node(std::move(found));
    before_->nodes.at(node).entries[entry.path().filename().string()] = number;
    nodes_[inode_of(entry.path())] = number;
    if (entry.is_directory()) scan(entry.path(), number);
  }
}

std::vector<std::string> StoreRecording::environment() const {
  return {std::string(kRecordVariable) + "=" + (home_ / "record").string(),
          "LD_PRELOAD=" BLOSCFS_STORE_RECORDER};
}

std::size_t StoreRecording::size() const { return fs_std::file_size(home_ / "record"); }

std::vector<RecordedStep> StoreRecording::steps() const {
  return Parser(read_file(home_ / "record"), nodes_).run();
}

}  // namespace bloscfs::test
