#pragma once
// The index of a sparse frame whose files are objects: a stored one, or a new one.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "frame/store/byte_store.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline store {

/// Returns a new random commit id of 32 hexadecimal digits. It is stored in the index's metadata as
/// `commit`.
std::string new_commit_id();
inline constexpr const char* kCommit = "commit";
/// The metadata that marks our chunk objects. gc deletes only chunks with this mark, and none of
/// other programs.
inline constexpr const char* kMark = "bloscfs";
/// Returns the commit id in the metadata; empty if there is none.
std::string commit_of(const ObjectState& state);

/// Writes the commit id into the fingerprint at the end of an index, which no reader checks
/// (frame/formats/cframe.md). Stores take objects with equal bytes for one state, even if their
/// metadata differ.
void stamp_index(std::vector<std::uint8_t>& index, const std::string& commit);

/// Returns the metadata for owner, mode and modification time. The mode is octal. The time is in
/// seconds since 1970, with a fraction.
std::map<std::string, std::string> metadata_of(const FileAttributes& attributes);
/// The metadata of a tombstone: the commit id, the host and the time of the removal.
std::map<std::string, std::string> metadata_of_tombstone(const std::string& commit);
/// Reverses metadata_of(). A missing or invalid value becomes the owner of this process, mode 0644,
/// or the object store's modification time.
FileAttributes attributes_of(const ObjectState& state);

/// Thread-safe. A new index is kept in memory and can be written to. A stored index is read from
/// its source, and writing to it throws EROFS.
class ObjectIndex final : public StoreFile {
 public:
  explicit ObjectIndex(mode_t mode);
  explicit ObjectIndex(std::shared_ptr<const ObjectSource> source);

  /// Returns the whole contents.
  std::vector<std::uint8_t> bytes() const;

  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  bool is_over_network() const override { return source_ && source_->is_over_network(); }
  void expect(std::span<const ByteRange> ranges) const override {
    if (source_) source_->expect(ranges);
  }
  bool is_available(std::span<const ByteRange> ranges) const override {
    return !source_ || source_->is_available(ranges);
  }
  /// Identifies this object. Setting attributes does not change it.
  FileStamp stamp() const override;
  void write_at(std::uint64_t offset, Bytes bytes) override;
  void truncate(std::uint64_t size) override;
  void punch(std::uint64_t offset, std::uint64_t size) override;
  void sync() override {}
  std::uint64_t link_count() const override { return 1; }
  FileAttributes attributes() const override;
  void set_attributes(const FileAttributes& attributes) override;
  void set_times(const timespec& accessed, const timespec& modified) override;
  bool is_sole_user() const override { return false; }

 private:
  void require_own() const;

  const std::shared_ptr<const ObjectSource> source_;
  const std::uint64_t number_;
  mutable std::mutex mutex_;
  std::vector<std::uint8_t> bytes_;  ///< empty if there is a source
  FileAttributes attributes_;
};

/// An index that this host has stored, kept in memory.
class KeptIndex final : public ObjectSource {
 public:
  KeptIndex(ObjectState state, std::vector<std::uint8_t> bytes)
      : state_(std::move(state)), bytes_(std::move(bytes)) {}

  const ObjectState& state() const override { return state_; }
  bool is_in_memory() const override { return true; }
  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  FileStamp stamp() const override;

 private:
  const ObjectState state_;
  const std::vector<std::uint8_t> bytes_;
};

}  // namespace bloscfs::frame::inline store
